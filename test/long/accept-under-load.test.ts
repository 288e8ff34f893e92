/**
 * A thousand clients of one organization connect and ask at once. Whoever of another organization connects meanwhile is
 * answered soon: counted in answers that the crowd gets in that time, so the same on any machine.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectTo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import { newAssistant, preRegistered, type ListeningSystem } from '../support/assistant.ts'
import type { Crowd, CrowdAnswer } from '../support/crowd.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org } from '../support/make.ts'
import { endWithUs } from '../support/end-with-us.ts'
import { processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

const CONNECTIONS = 1_000
/** A token may have 16 calls open: so many that none is refused for that. */
const PEOPLE = 63
/** Of each connection, one after the other: those that are accepted do not leave the turns to those that are not. */
const REQUESTS = 3
/**
 * Answers of the crowd while somebody who connects anew waits for one. As long as connections are waiting, one request starts
 * in eight turns; then of each of the others one is before it.
 */
const ANSWERS_MEANWHILE_MAX = CONNECTIONS / 2

const own = processes()
let connection: Connection
let drop: () => Promise<unknown>
let server: ServerProcess
let system: ListeningSystem
let crowded: Org
let other: Org
/** Of the other organization. */
let newcomer: string

beforeAll(async () => {
  const { url } = inject('postgres')
  const name = unique('accept').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  drop = () => onServer(url, `drop database ${name} with (force)`)
  const env: Env = {
    DATABASE_URL: databaseUrl(url, name),
    SVC_ORG: 'Load',
    SVC_SERVICES: 'api-gateway,auth-service,mcp-server',
    TRUSTED_PROXIES: '127.0.0.1',
    ARGON2_MEMORY_KIB: '64',
    MCP_CALLS_PER_MINUTE: '100000',
    LOG_LEVEL: 'info',
    ...freshSecrets(),
  }
  server = await own.start({ env })
  connection = await connect({ url: env.DATABASE_URL! })
  const config = readConfig({ ...env, PORT: String(server.port) })
  system = {
    system: { config },
    db: connection.db,
    clock: { now: () => new Date() },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
    origin: server.origin,
  } as ListeningSystem
  ;[crowded, other] = [await makeOrganization(system), await makeOrganization(system)]
  newcomer = await granted(other)
  // The first calls load the SDK and compile everything.
  for (let call = 0; call < 200; call++) await ask({ ...WHOAMI, headers: mcpHeaders(newcomer) })
})
afterAll(async () => {
  await own.cleanUp()
  await connection?.close()
  await drop?.()
})

test('beside a thousand calls of many agents', async () => {
  const tokens: string[] = []
  while (tokens.length < PEOPLE) {
    const person = await makeMember(system, crowded, 'member')
    tokens.push((await makeApiToken(system, crowded, person, { audiences: ['platform'] })).token)
  }
  const seen = await besideCrowd({ ...WHOAMI, headers: tokens.map(mcpHeaders) }, REQUESTS)
  expect(seen.statuses).toEqual([200])
  expect(seen.wrong).toEqual([])
  expect(seen.meanwhile).toBeLessThanOrEqual(ANSWERS_MEANWHILE_MAX)
})

test('beside a thousand calls of one grant', async () => {
  const seen = await besideCrowd({ ...WHOAMI, headers: [mcpHeaders(await granted(crowded))] }, 1)
  // Some are answered; of the others, that are too many at once, none is lost.
  expect(seen.statuses).toEqual([200, 429])
  expect(seen.wrong).toEqual([])
  expect(seen.meanwhile).toBeLessThanOrEqual(ANSWERS_MEANWHILE_MAX)
})

test('beside a thousand requests of one API token to the gateway', async () => {
  const { token } = await makeApiToken(system, crowded, crowded.owner)
  const seen = await besideCrowd({ ...ME, headers: [{ authorization: `Bearer ${token}` }] }, REQUESTS)
  expect(seen.statuses).toEqual([200])
  expect(seen.wrong).toEqual([])
  expect(seen.meanwhile).toBeLessThanOrEqual(ANSWERS_MEANWHILE_MAX)
})

/** The crowd is at one address, and shows a thousand credentials: of them all, one is before a request of another address. */
test('beside a thousand made-up credentials of one address', async () => {
  const headers = Array.from({ length: CONNECTIONS }, (_, at) => ({
    authorization: `Bearer svc_made_up_${at}`,
    'x-forwarded-for': '198.51.100.1',
  }))
  const seen = await besideCrowd({ ...ME, headers }, REQUESTS, '192.0.2.7')
  // Those that nobody knows wait for fifteen seconds at most; who waits longer is refused, for the crowd of its own network or, the
  // last of it, for all others. How many that are is the speed of the machine.
  expect(seen.statuses).toContain(401)
  expect(seen.statuses.filter((status) => ![401, 429, 503].includes(status))).toEqual([])
  expect(seen.wrong).toEqual([])
  expect(seen.meanwhile).toBeLessThanOrEqual(ANSWERS_MEANWHILE_MAX)
})

test('beside a thousand connections that say nothing, or not all, and are closed before one whose body is awaited', async () => {
  const words = ['', 'GET /api/v1/me HTTP/1.1\r\nHost: loc']
  let isAwaited = true
  const slow = connectTo(server.port, '127.0.0.1')
  slow.write(`POST /api/v1/sessions HTTP/1.1\r\nHost: localhost:${server.port}\r\nContent-Length: 9\r\n\r\n{`)
  const slowAnswer = text(slow).then((said) => {
    isAwaited = false
    return said
  })
  const closed = Array.from({ length: CONNECTIONS }, async (_, at) => {
    const socket = connectTo(server.port, '127.0.0.1')
    socket.write(words[at % 2]!)
    return text(socket)
  })
  expect((await ask({ ...WHOAMI, headers: mcpHeaders(newcomer) })).text).toContain(WHOAMI.says)
  for (const said of await Promise.all(closed)) expect(said).toMatch(/^HTTP\/1\.1 408 /)
  expect(isAwaited).toBe(true)
  slow.destroy()
  await slowAnswer.catch(() => {})
})

async function granted(org: Org): Promise<string> {
  const assistant = newAssistant(system, await preRegistered(system))
  return (await assistant.connect(org.owner, { scope: 'data:read' })).access
}

type Asked = { path: string; method: string; body: string; says: string }
const ME: Asked = { path: '/api/v1/me', method: 'GET', body: '', says: '"user"' }
const HEALTH: Asked = { path: '/healthz', method: 'GET', body: '', says: 'alive' }
const WHOAMI: Asked = {
  says: 'quota',
  path: '/platform',
  method: 'POST',
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'whoami', arguments: {} },
  }),
}

const mcpHeaders = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  accept: 'application/json',
})

/** By address: a thousand lookups of a name would come before the connections. But asked for by name, as from outside. */
const addressOf = (path: string) => `http://127.0.0.1:${server.port}${path}`
const asPublic = (headers: Readonly<Record<string, string>>) => ({
  ...headers,
  host: `localhost:${server.port}`,
})

type Answer = { readonly text: string; readonly began: number; readonly ended: number }

const now = () => performance.timeOrigin + performance.now()

/** Over a connection of its own. */
function ask({
  path,
  method,
  body,
  headers = {},
}: Asked & { headers?: Record<string, string> }): Promise<Answer> {
  const began = now()
  return new Promise((resolve, reject) => {
    request(addressOf(path), { method, headers: asPublic(headers), agent: false }, (response) => {
      text(response).then((said) => resolve({ text: said, began, ended: now() }), reject)
    })
      .once('error', reject)
      .end(body)
  })
}

/** A crowd connects; once it has begun to, the other organization connects for one request after the other, until it is over. */
async function besideCrowd(
  { path, headers, ...asked }: Asked & Pick<Crowd, 'headers'>,
  requests: number,
  newcomersAddress = '127.0.0.1',
) {
  const from = { 'x-forwarded-for': newcomersAddress }
  const crowd: Crowd = {
    ...asked,
    url: addressOf(path),
    headers: headers.map(asPublic),
    connections: CONNECTIONS,
    requests,
  }
  const child = spawn(process.execPath, [CROWD, JSON.stringify(crowd)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const letGo = endWithUs(child.pid!)
  const [sent] = (await once(child.stdout, 'data')) as [Buffer]
  expect(sent.toString()).toBe('sent\n')
  const over = new AbortController()
  const rest = text(child.stdout).finally(() => over.abort())
  const untilOver = async (says: string, askOnce: () => Promise<Answer>) => {
    const answers: (Answer & { says: string })[] = []
    while (!over.signal.aborted) answers.push({ ...(await askOnce()), says })
    return answers
  }
  const [health, whoami, me] = await Promise.all([
    untilOver(HEALTH.says, () => ask(HEALTH)),
    untilOver(WHOAMI.says, () => ask({ ...WHOAMI, headers: { ...mcpHeaders(newcomer), ...from } })),
    untilOver(other.owner.userId, () =>
      ask({ ...ME, headers: { authorization: `Bearer ${other.owner.token}`, ...from } }),
    ),
  ])
  const ofCrowd = JSON.parse((await rest).replace(/^saw /, '')) as CrowdAnswer[]
  letGo()
  expect(ofCrowd, 'every request of the crowd has an answer').toHaveLength(CONNECTIONS * requests)
  const meanwhile = ({ began, ended }: Answer) =>
    ofCrowd.filter((answer) => answer.ended > began && answer.ended < ended).length
  const most = (answers: readonly Answer[]) => Math.max(...answers.map(meanwhile))
  const longest = (answers: readonly Answer[]) =>
    Math.max(...answers.map(({ began, ended }) => ended - began)).toFixed(0)
  for (const [what, answers] of Object.entries({ health, whoami, me })) {
    console.log(
      `${what}: ${answers.length}, beside one at most ${most(answers)} answers, ${longest(answers)} ms`,
    )
  }
  const all = [...health, ...whoami, ...me]
  return {
    statuses: [...new Set(ofCrowd.map(({ status }) => status))].toSorted((a, b) => a - b),
    wrong: all.filter(({ text: said, says }) => !said.includes(says)).map(({ text: said }) => said),
    meanwhile: most(all),
  }
}

const CROWD = fileURLToPath(new URL('../support/crowd.ts', import.meta.url))
