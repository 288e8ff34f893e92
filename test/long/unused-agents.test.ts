/**
 * Ninety generated days of agents with real grants, in two organizations: narrowed to what it used, every call that an agent made
 * still succeeds, and every other one is refused. What each call takes is written down here once more.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../src/contracts/apps.ts'
import { narrowGrant, showGrant } from '../../src/contracts/grants.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  tokensIn,
  type Assistant,
  type ListeningSystem,
} from '../support/assistant.ts'
import { configurationOf, entry, makeSource, placeForDatabases, toyModels } from '../support/data-sources.ts'
import { makeOrganization, signedIn, type Org } from '../support/make.ts'
import { turnOn } from '../support/maintenance.ts'

const DAY_SECONDS = 24 * 60 * 60
const SOURCES = ['alpha', 'beta', 'gamma']

let place: Awaited<ReturnType<typeof placeForDatabases>>
let system: ListeningSystem
let models: ReturnType<typeof toyModels>
let orgs: readonly Org[]

beforeAll(async () => {
  place = await placeForDatabases()
  models = toyModels()
  system = await startListeningSystem(
    {
      ...place.settings,
      SVC_SERVICES: 'api-gateway,auth-service,mcp-server,deploy-api',
      QUESTIONS_PER_MINUTE: '100000',
    },
    { models },
  )
  orgs = [await makeOrganization(system), await makeOrganization(system)]
  for (const org of orgs) {
    for (const name of SOURCES) {
      await makeSource(org, {
        name,
        sql: `create table rows (id text, title text, embedding vector(3)); insert into rows values ('1', '${name}', '[1,0,0]')`,
        configuration: configurationOf([entry('rows')]),
      })
    }
    await org.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    await turnOn(org)
  }
})
afterAll(async () => {
  await place.clear(system)
  await system.stop()
  await models.close()
  await place.remove()
})

type Call = { readonly tool: string; readonly input: object; readonly takes: readonly string[] }

const CALLS: readonly Call[] = [
  ...SOURCES.map((name) => ({
    tool: 'datasource_query',
    input: { source_id: `db_${name}`, query: '[1,0,0]' },
    takes: ['data:read', name],
  })),
  { tool: 'datasource_list', input: {}, takes: ['data:read'] },
  { tool: 'app_list', input: {}, takes: ['maintenance:read'] },
  { tool: 'maintenance_set', input: { app: 'shop', enabled: true }, takes: ['maintenance:admin'] },
]

type Agent = { readonly org: Org; readonly assistant: Assistant; readonly grantId: string; refresh: string }

async function connect(org: Org): Promise<Agent> {
  const assistant = newAssistant(system, await preRegistered(system))
  const asked = {
    resource: `${system.origin}/platform`,
    scope: 'data:read maintenance:read maintenance:admin',
  }
  const scopes = asked.scope.split(' ')
  const { refresh, grantId } = await assistant.connect(org.owner, asked, { scopes })
  return { org, assistant, grantId, refresh }
}

/** An access token lasts an hour. */
async function tokenOf(agent: Agent): Promise<string> {
  const { access, refresh } = tokensIn(await agent.assistant.refresh(agent.refresh))
  agent.refresh = refresh
  return access
}

async function succeeds(token: string, { tool, input }: Call): Promise<boolean> {
  const response = await fetch(`${system.origin}/platform`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: tool, arguments: input },
    }),
  })
  const { result } = (await response.json()) as { result?: { isError?: boolean } }
  return response.ok && result !== undefined && result.isError !== true
}

/** The same every time: a multiplicative generator (Lehmer, 1951). */
function randomNumbers(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

test('ninety days: what was called still succeeds, and everything else is refused', async () => {
  const agents = [await connect(orgs[0]!), await connect(orgs[0]!), await connect(orgs[1]!)]
  /** Of each agent, the last day of each call it made. */
  const made = agents.map(() => new Map<Call, number>())
  const random = randomNumbers(20_261)
  // Each has habits: what it calls at all, until which day.
  const habits = agents.map((_, at) =>
    CALLS.filter((_call, n) => (n + at) % 3 !== 0).map((call) => ({ call, until: 20 + random(71) })),
  )
  for (let today = 0; today < 90; today++) {
    system.clock.advance(DAY_SECONDS)
    for (const [at, agent] of agents.entries()) {
      const token = await tokenOf(agent)
      for (const { call } of habits[at]!.filter(({ until }) => today <= until && random(3) === 0)) {
        expect(await succeeds(token, call)).toBe(true)
        made[at]!.set(call, today)
      }
    }
  }
  const ownerOf = (agent: Agent) => signedIn(system, agent.org.owner.email)
  for (const [at, agent] of agents.entries()) {
    // Once each: what is called to find out is a use, too.
    const days = at === 0 ? 90 : 30
    const { call } = await ownerOf(agent)
    await call(narrowGrant, { grant_id: agent.grantId, used_within_days: days })
    const token = await tokenOf(agent)
    const recent = [...made[at]!].filter(([, last]) => last > 89 - days).map(([one]) => one)
    const taken = new Set(recent.flatMap(({ takes }) => takes))
    expect(recent.length).toBeGreaterThan(0)
    expect(recent.length).toBeLessThan(CALLS.length)
    for (const one of CALLS) {
      const isKept = one.takes.every((right) => taken.has(right))
      expect([one.tool, one.input, await succeeds(token, one)]).toEqual([one.tool, one.input, isKept])
    }
    expect((await call(showGrant, { grant_id: agent.grantId })).ended).toBeNull()
  }
})
