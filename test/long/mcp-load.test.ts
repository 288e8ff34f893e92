/**
 * A thousand calls at once, and in the middle of it a grant is revoked: from then on nothing passes under it, nobody
 * else notices, no call goes without an answer, and memory does not grow.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import { revokeGrant } from '../../src/contracts/grants.ts'
import { newAssistant, preRegistered, type ListeningSystem, type Tokens } from '../support/assistant.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

/**
 * Lower both where a machine is too slow: an answer must come within the 30 seconds a request may take, and with this
 * many calls at once each waits for all the others.
 */
const CALLS_AT_ONCE = 1_000
const SECONDS = 20
/** Of an agent of another organization, whose grant stays. */
const OF_ANOTHER = CALLS_AT_ONCE / 10
/** Of the most it took before the revocation to the most after it. Garbage comes and goes in between. */
const GROWTH_MAX = 1.25

const own = processes()
let connection: Connection
let drop: () => Promise<unknown>
let server: ServerProcess
let system: ListeningSystem

beforeAll(async () => {
  const { url } = inject('postgres')
  const name = unique('load').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  drop = () => onServer(url, `drop database ${name} with (force)`)
  const env: Env = {
    DATABASE_URL: databaseUrl(url, name),
    SVC_ORG: 'Load',
    SVC_SERVICES: 'api-gateway,auth-service,mcp-server',
    TRUSTED_PROXIES: '127.0.0.1',
    ARGON2_MEMORY_KIB: '64',
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
})
afterAll(async () => {
  await own.cleanUp()
  await connection?.close()
  await drop?.()
})

test('a grant revoked under load ends at once, and no call before it is lost', async () => {
  const [revoked, other] = [await connected(), await connected()]
  const load = await startLoad([
    { token: revoked.tokens.access, lanes: CALLS_AT_ONCE - OF_ANOTHER },
    { token: other.tokens.access, lanes: OF_ANOTHER },
  ])
  // By then everything is compiled, and every connection has carried a call.
  await load.everyLaneAnswered
  const memory = watchMemory(server)
  await sleep((SECONDS / 2) * 1000)
  const warm = memory.soFar()
  const asked = performance.now()
  await system.as({ token: revoked.org.owner.token, organization: revoked.org.id })(revokeGrant, {
    grant_id: revoked.tokens.grantId,
  })
  const acknowledged = performance.now()
  // Not cut short by a slow acknowledgement: as long after it as before.
  await sleep((SECONDS / 2) * 1000)
  const [ofRevoked, ofOther] = await load.stop()
  const samples = memory.stop()
  const late = samples.slice(warm.length)

  const before = ofRevoked!.filter(({ ended }) => ended < asked)
  const meanwhile = ofRevoked!.filter(({ began, ended }) => ended >= asked && began <= acknowledged)
  const after = ofRevoked!.filter(({ began }) => began > acknowledged)
  const counted = Object.entries({ before, meanwhile, after, 'of the other agent': ofOther! })
  console.log(
    `${CALLS_AT_ONCE} calls at once for ${((performance.now() - load.began) / 1000).toFixed(0)} s, ` +
      `revoked within ${(acknowledged - asked).toFixed(0)} ms; ` +
      counted.map(([when, calls]) => `${when}: ${calls.length} (${outcomes(calls).join(', ')})`).join('; ') +
      `; MiB: ${samples.map((mib) => mib.toFixed(0)).join(' ')}`,
  )
  for (const calls of [before, meanwhile, after, ofOther!]) expect(calls.length).toBeGreaterThan(OF_ANOTHER)
  expect(outcomes(before)).toEqual(['answered'])
  expect(outcomes(after)).toEqual(['401'])
  expect(outcomes(ofOther!)).toEqual(['answered'])
  // Whatever became of those on their way, each was told.
  expect(['answered', 'refused', '401']).toEqual(expect.arrayContaining(outcomes(meanwhile)))

  expect(Math.max(...late) / Math.max(...warm), 'growth of memory').toBeLessThan(GROWTH_MAX)
})

async function connected(): Promise<{ org: Org; tokens: Tokens }> {
  const org = await makeOrganization(system)
  const assistant = newAssistant(system, await preRegistered(system))
  return { org, tokens: await assistant.connect(org.owner, { scope: 'data:read' }) }
}

type Called = { readonly began: number; readonly ended: number; readonly outcome: string }

const outcomes = (calls: readonly Called[]): string[] => [...new Set(calls.map(({ outcome }) => outcome))]

/** Every lane has one call on its way, always; whoever is refused asks again like the others. */
async function startLoad(agents: readonly { token: string; lanes: number }[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLS_AT_ONCE, maxFreeSockets: CALLS_AT_ONCE })
  await openConnections(agent)
  const ending = new AbortController()
  let silent = CALLS_AT_ONCE
  const first = Promise.withResolvers<void>()
  const all = agents.map(({ token, lanes }) => {
    const calls: Called[] = []
    const lane = async () => {
      let isFirst = true
      while (!ending.signal.aborted) {
        const began = performance.now()
        const outcome = await callOnce(agent, token)
        calls.push({ began, ended: performance.now(), outcome })
        if (isFirst && --silent === 0) first.resolve()
        isFirst = false
      }
    }
    return Promise.all(Array.from({ length: lanes }, lane)).then(() => calls)
  })
  return {
    began: performance.now(),
    everyLaneAnswered: first.promise,
    async stop() {
      ending.abort()
      const calls = await Promise.all(all)
      agent.destroy()
      return calls
    },
  }
}

/**
 * Before the load: Node takes one new connection in each turn of its loop, and a turn takes long when a thousand calls
 * are on their way, so that the last ones would wait for minutes.
 */
const openConnections = (agent: Agent) =>
  Promise.all(
    Array.from(
      { length: CALLS_AT_ONCE },
      () =>
        new Promise<void>((resolve, reject) => {
          request(`${server.origin}/healthz`, { agent }, (response) => response.resume().once('end', resolve))
            .once('error', reject)
            .end()
        }),
    ),
  )

const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'whoami', arguments: {} },
})

/** By node:http, because fetch opens no thousand connections to one place. */
function callOnce(agent: Agent, token: string): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(CALL)),
    accept: 'application/json',
  }
  return new Promise((resolve) => {
    const lost = (error: Error) => resolve(`lost: ${error.message}`)
    request(`${server.origin}/platform`, { agent, method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('error', lost)
      response.once('end', () =>
        resolve(response.statusCode === 200 ? answerIn(text) : String(response.statusCode)),
      )
    })
      .once('error', lost)
      .end(CALL)
  })
}

/** Refused: accepted by the MCP server, and stopped by the gateway behind it. */
function answerIn(text: string): string {
  const { result } = JSON.parse(text) as { result?: { isError?: boolean; content: { text: string }[] } }
  if (!result) return `no answer: ${text.slice(0, 200)}`
  if (!result.isError) return 'answered'
  const said = result.content[0]?.text ?? ''
  return said.startsWith('UNAUTHENTICATED') ? 'refused' : `failed: ${said}`
}

function watchMemory({ pid }: ServerProcess) {
  const samples: number[] = []
  const timer = setInterval(() => {
    const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    samples.push(Number(kib) / 1024)
  }, 1_000)
  return {
    soFar: () => [...samples],
    stop() {
      clearInterval(timer)
      return samples
    },
  }
}
