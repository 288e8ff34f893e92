/**
 * The agent-runner as a process of its own: it has the keys of models, and neither a database nor DATA_KEY. Runs and judge
 * checks go through it; killed in the midst of a question, its run is lost and paid for, and the next one is done by another.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { eq, sql } from '../../db/drizzle.ts'
import { appLeases, tokenPools } from '../../db/schema.ts'
import { readConfig } from '../../src/boot/config.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { createCheck, listCheckRuns } from '../../src/contracts/checks.ts'
import { MAINTENANCE_LEASE_SECONDS } from '../../src/contracts/limits.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { makeMaintainedApp, QUIET_LINES } from '../support/maintained-app.ts'
import { unique } from '../support/make.ts'
import {
  startModelServer,
  type ModelServer,
  type ReceivedRequest,
  type ScriptedTurn,
} from '../support/model-server.ts'
import { expectSilence, processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets, type TestSystem } from '../support/system.ts'

const KEY = 'sk-canary-of-the-runner'
const AGENT_RUNNER_SECRET = 'b7'.repeat(32)
const own = processes()
let connection: Connection
let drop: () => Promise<unknown>
let provider: ModelServer
let next: (request: ReceivedRequest) => ScriptedTurn = () => ({ text: 'x' })
let inside: Env
let apart: Env
let agentRunner: ServerProcess
let system: TestSystem

beforeAll(async () => {
  const postgres = inject('postgres')
  const name = unique('apart').replaceAll('-', '_')
  await onServer(postgres.url, `create database ${name} template ${postgres.template}`)
  const url = databaseUrl(postgres.url, name)
  drop = () => onServer(postgres.url, `drop database ${name} with (force)`)
  connection = await connect({ url })
  provider = await startModelServer((request) => next(request))
  const [port, runnerPort] = [await freePort(), await freePort()]
  const model = { wire: 'openai-chat', url: `${provider.origin}/v1`, max_output_tokens: 1_000 }
  const shared = {
    API_URL: `http://localhost:${port}`,
    AUTH_URL: `http://localhost:${port}`,
    APP_URL: `http://localhost:${port}`,
    DEPLOY_URL: `http://127.0.0.1:${port}`,
    AGENT_RUNNER_URL: `http://127.0.0.1:${runnerPort}`,
    AGENT_RUNNER_SECRET,
  }
  inside = {
    ...shared,
    ...freshSecrets(),
    PORT: String(port),
    DATABASE_URL: url,
    // Without the sample, which costs seconds.
    SVC_ORG: 'Home',
    ARGON2_MEMORY_KIB: '64',
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api,worker',
    MAINTENANCE_MODELS: JSON.stringify({ scripted: model }),
  }
  apart = {
    ...shared,
    PORT: String(runnerPort),
    SVC_SERVICES: 'agent-runner',
    MAINTENANCE_MODELS: JSON.stringify({ scripted: { ...model, key: KEY } }),
  }
  await own.start({ env: inside })
  agentRunner = await own.start({ env: apart })
  const config = readConfig(inside)
  system = {
    system: { config },
    db: connection.db,
    clock: { now: () => new Date() },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
  } as TestSystem
}, 300_000)
afterAll(async () => {
  await own.cleanUp()
  await provider?.stop()
  await connection?.close()
  await drop?.()
})

type App = Awaited<ReturnType<typeof makeMaintainedApp>>

async function ended(app: App, executionId: string, seconds = 60) {
  for (let left = seconds * 4; left > 0; left--) {
    const run = await app.show(executionId)
    if (run.status === 'ended') return run
    await sleep(250)
  }
  throw new Error('the run did not end')
}

/** Looks at everything, and then finishes: there are no errors that it would have to tell of. */
const looking = ({ body }: ReceivedRequest): ScriptedTurn => {
  const hasLooked = JSON.stringify(body['messages']).includes('tool_call_id')
  const calls = hasLooked
    ? [{ name: 'finish', arguments: { conclusion: 'nothing_found' } }]
    : [
        { name: 'log_groups', arguments: {} },
        { name: 'check_history', arguments: {} },
        { name: 'read_file', arguments: { path: 'src/orders.js' } },
      ]
  return { calls, tokens: [900, 100] }
}

const poolOf = async ({ org }: App) => {
  const [pool] = await connection.db.select().from(tokenPools).where(eq(tokenPools.orgId, org.id))
  return pool
}

test('starts with a key and no database, and refuses to without a way to the deploy-api', async () => {
  expect(Object.keys(apart)).not.toContain('DATABASE_URL')
  const { DEPLOY_URL: _, AGENT_RUNNER_SECRET: __, ...lost } = apart
  const refused = await own.run({ env: lost })
  expect(refused.code).not.toBe(0)
  expect(refused.stderr + refused.stdout).toMatch(/AGENT_RUNNER_SECRET: required by agent-runner/)
  const keyElsewhere = await own.run({
    env: { ...inside, MAINTENANCE_MODELS: apart['MAINTENANCE_MODELS']! },
  })
  expect(keyElsewhere.stderr + keyElsewhere.stdout).toMatch(/keys belong to the agent-runner only/)
  expect(keyElsewhere.stderr + keyElsewhere.stdout).not.toContain(KEY)
})

test('does runs over HTTP', async () => {
  next = looking
  const app = await makeMaintainedApp(system, { lines: QUIET_LINES })
  const run = await ended(app, await app.start())
  expect(run).toMatchObject({ terminal_code: 'found_nothing', tokens: 2_000, model: 'scripted' })
  expect(run.steps.map(({ tool }) => tool)).toEqual([
    null,
    'log_groups',
    'check_history',
    'read_file',
    null,
    'finish',
  ])
  expect(provider.received.at(-1)!.headers.authorization).toBe(`Bearer ${KEY}`)
})

test('answers the questions of judge checks', async () => {
  next = () => ({ calls: [{ name: 'verdict', arguments: { verdict: 'pass' } }] })
  const app = await makeMaintainedApp(system)
  const definition = { kind: 'judge', question: 'Is all well?' } as const
  const { id } = await app.call(createCheck, { alias: app.alias, name: 'Well', definition })
  const read = () => app.call(listCheckRuns, { alias: app.alias, check_id: id })
  for (let left = 120; left > 0 && (await read()).runs.length === 0; left--) await sleep(250)
  expect((await read()).runs).toMatchObject([{ result: 'pass' }])
})

test('killed in the midst of a question: the run is lost and paid for, another process does the next', async () => {
  next = () => ({ fault: 'silence' })
  const app = await makeMaintainedApp(system, { lines: QUIET_LINES })
  const executionId = await app.start()
  const asked = provider.received.length
  while (provider.received.length === asked) await sleep(50)
  await agentRunner.stop('SIGKILL')
  const reserved = (await poolOf(app))!.reserved
  expect(reserved).toBeGreaterThan(0)
  const lost = await ended(app, executionId, MAINTENANCE_LEASE_SECONDS + 60)
  expect(lost).toMatchObject({ terminal_code: 'lease_lost', outcome: 'agent_error', reason: 'RUNNER_LOST' })
  expect(await poolOf(app)).toMatchObject({ reserved: 0, spent: reserved })

  next = looking
  agentRunner = await own.start({ env: apart })
  expect(await ended(app, await app.start())).toMatchObject({ terminal_code: 'found_nothing' })
}, 300_000)

test('held up beyond its lease and woken: nothing of it is written, and it does the next run', async () => {
  next = () => ({ fault: 'silence' })
  const app = await makeMaintainedApp(system, { lines: QUIET_LINES })
  const first = await app.start()
  const asked = provider.received.length
  while (provider.received.length === asked) await sleep(50)
  agentRunner.kill('SIGSTOP')
  const { reserved } = (await poolOf(app))!
  // As if its minute were over.
  await connection.db
    .update(appLeases)
    .set({ expiresAt: sql`clock_timestamp() - interval '1 second'` })
    .where(eq(appLeases.orgId, app.org.id))
  const lost = await ended(app, first, 60)
  expect(lost).toMatchObject({ terminal_code: 'lease_lost', reason: 'RUNNER_LOST' })
  expect(await poolOf(app)).toMatchObject({ reserved: 0, spent: reserved })
  next = looking
  const second = await app.start()
  agentRunner.kill('SIGCONT')
  expect(await ended(app, second, 2 * MAINTENANCE_LEASE_SECONDS)).toMatchObject({
    terminal_code: 'found_nothing',
    tokens: 2_000,
  })
  expect(await app.show(first)).toEqual(lost)
  expect(await poolOf(app)).toMatchObject({ reserved: 0, spent: reserved + 2_000, overage: 0 })
}, 300_000)

test('stopped, it gives back what it was doing, and the next process does it', async () => {
  next = () => ({ fault: 'silence' })
  const app = await makeMaintainedApp(system, { lines: QUIET_LINES })
  const executionId = await app.start()
  const asked = provider.received.length
  while (provider.received.length === asked) await sleep(50)
  await agentRunner.stop('SIGTERM')
  expect(await app.show(executionId)).toMatchObject({ status: 'queued', outcome: null })
  expect(await poolOf(app)).toMatchObject({ reserved: 0 })
  expectSilence(agentRunner, [KEY, AGENT_RUNNER_SECRET])
  next = looking
  agentRunner = await own.start({ env: apart })
  expect(await ended(app, executionId)).toMatchObject({ terminal_code: 'found_nothing' })
}, 120_000)
