/**
 * Clients that others wrote, as their users run them and all at the same time: login, the list of tools, calls, expired
 * tokens, a restarted server, and the end. Claude Code and Codex have a model of ours, on loopback.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/sample/load-sample.ts'
import { startClientSystem, type ClientSystem } from '../support/client-system.ts'
import { CLAUDE_CODE, CLAUDE_CODE_DOCUMENT, claudeCode } from '../support/clients/claude-code.ts'
import { newPerson, type Client, type Person, type Place } from '../support/clients/client.ts'
import { CODEX, CODEX_DOCUMENT, codex } from '../support/clients/codex.ts'
import { mcpRemote } from '../support/clients/mcp-remote.ts'
import { officialLegacy, officialModern } from '../support/clients/official.ts'
import { INSPECTOR, inspector, MCPORTER, mcporter } from '../support/clients/terminal.ts'
import { openFakeModel, type FakeModel } from '../support/fake-model.ts'

type Entry = {
  readonly name: string
  /** Missing unless the clients of test/clients are installed. */
  readonly program?: string
  readonly start: (place: Place) => Client
  /** The address of its metadata document; without one it registers itself. */
  readonly document?: string
  /** What it says, or does, once its grant is gone. */
  readonly end: RegExp
}

const ASKS = 'asks for a login'

const ENTRIES: readonly Entry[] = [
  {
    name: 'Claude Code',
    program: CLAUDE_CODE,
    start: (place) => claudeCode(place, model),
    document: CLAUDE_CODE_DOCUMENT.client_id,
    end: /needs authentication/,
  },
  {
    name: 'Codex',
    program: CODEX,
    start: (place) => codex(place, model),
    document: CODEX_DOCUMENT.client_id,
    end: /Authentication required/i,
  },
  { name: 'mcporter at its defaults', program: MCPORTER, start: mcporter, end: RegExp(ASKS) },
  { name: 'mcp-remote', start: mcpRemote, end: RegExp(ASKS) },
  { name: 'Inspector', program: INSPECTOR, start: inspector, end: RegExp(ASKS) },
  { name: 'SDK v1', start: officialLegacy, end: /unauthorized/i },
  { name: 'SDK v2', start: officialModern, end: /unauthorized/i },
]
const tried = ENTRIES.filter(({ program }) => program === undefined || existsSync(program))
for (const { name } of ENTRIES.filter((entry) => !tried.includes(entry))) {
  console.log(`${name} is not tried: npm ci --prefix test/clients --ignore-scripts installs it.`)
}

/** Longer than an access token lives. */
const HOUR_S = 61 * 60

let system: ClientSystem
let model: FakeModel
const homes: string[] = []
const running = new Map<string, { readonly client: Client; readonly person: Person }>()
const at = (name: string) => running.get(name)!

async function newPlace(where: ClientSystem): Promise<Place> {
  const home = await mkdtemp(join(tmpdir(), 'svc-client-'))
  homes.push(home)
  return { home, system: where, person: newPerson(where) }
}

beforeAll(async () => {
  system = await startClientSystem([CLAUDE_CODE_DOCUMENT, CODEX_DOCUMENT])
  model = await openFakeModel()
  for (const { name, start } of tried) {
    const place = await newPlace(system)
    running.set(name, { person: place.person, client: start(place) })
  }
})
afterAll(async () => {
  await Promise.all([...running.values()].map(({ client }) => client.close()))
  model?.close()
  await system?.stop()
  await Promise.all(homes.map((home) => rm(home, { recursive: true, force: true })))
})

async function expectAnswers({ name, document = 'dcr_' }: Entry): Promise<void> {
  const { client, person } = at(name)
  const whoAmI = await client.callTool('whoami')
  expect(whoAmI).toContain(system.email)
  expect(whoAmI).toContain(document)
  const question = { source_id: SAMPLE_SOURCE, query: SAMPLE_QUESTION, top_k: 1 }
  expect(await client.callTool('datasource_query', question)).toContain('work-from-abroad')
  // Only for the login.
  expect(person.asked()).toBe(1)
}

describe('connects', () => {
  test.each(tried)('$name logs in', async ({ name }) => {
    await at(name).client.connect()
    expect(at(name).person.asked()).toBe(1)
  })

  test.each(tried)('$name lists the tools', async ({ name }) => {
    const tools = await at(name).client.listTools()
    expect(tools).toEqual(expect.arrayContaining(['whoami', 'datasource_query']))
  })

  test.each(tried)('$name calls whoami and datasource_query', expectAnswers)
})

describe('an hour later', () => {
  beforeAll(() => system.pass(HOUR_S))

  test.each(tried)('$name renews its token and goes on', async (entry) => {
    const before = system.tokensIssued()
    await expectAnswers(entry)
    expect(system.tokensIssued()).toBeGreaterThan(before)
  })
})

describe('closed for an hour', () => {
  beforeAll(() => system.pass(HOUR_S))

  test.each(tried)('$name is started again and goes on', async (entry) => {
    const before = system.tokensIssued()
    await at(entry.name).client.pause(HOUR_S)
    await expectAnswers(entry)
    expect(system.tokensIssued()).toBeGreaterThan(before)
  })
})

describe('the server was restarted', () => {
  beforeAll(() => system.restart())

  test.each(tried)('$name goes on', expectAnswers)
})

describe('its grant was revoked', () => {
  let revoked: string[]
  beforeAll(async () => {
    revoked = await system.revokeAll()
  })

  test.each(tried)('$name says so', async ({ name, end }) => {
    expect(revoked).toHaveLength(tried.length)
    const { client, person } = at(name)
    // A program that asks for a login waits for it.
    const asked = new Promise<string>((resolve) => person.leave(() => resolve(ASKS)))
    const called = client.callTool('whoami').catch((error: Error) => error.message)
    const said = await Promise.race([called, asked])
    expect(said).toMatch(end)
    expect(said).not.toContain(system.email)
  })
})

/** Each login has a port of its own, and the others hold registrations of this address as well. */
test.skipIf(!existsSync(MCPORTER))(
  'mcporter logs in six times more, on machines that are new to it',
  async () => {
    await system.revokeAll()
    for (let time = 0; time < 6; time++) {
      const place = await newPlace(system)
      await mcporter(place).connect()
      expect(place.person.asked()).toBe(1)
    }
    expect(new Set(await system.revokeAll()).size).toBe(1)
  },
)

const withDocuments = tried.filter(({ document }) => document !== undefined)
// None of the clients that are here may have one.
describe.skipIf(withDocuments.length === 0)('a server that takes no metadata documents', () => {
  let closed: ClientSystem
  beforeAll(async () => {
    closed = await startClientSystem([], { OAUTH_CIMD: 'off' })
  })
  afterAll(() => closed?.stop())

  test.each(withDocuments)('$name registers itself instead', async ({ start }) => {
    const client = start(await newPlace(closed))
    onTestFinished(() => client.close())
    await client.connect()
    expect(await client.callTool('whoami')).toContain('dcr_')
  })
})
