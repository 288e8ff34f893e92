/** Deployments with the real client as runner, against the real server: restarts, cancellations, kills and freezes. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, eq, sql } from '../../db/drizzle.ts'
import { deployments as rows, outbox, events } from '../../db/schema.ts'
import { readConfig } from '../../src/boot/config.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import {
  cancelDeployment,
  claimDeployment,
  confirmDeploymentEnded,
  createDeployment,
  readDeploymentOutput,
  showDeployment,
} from '../../src/contracts/deployments.ts'
import { DEPLOYMENT_LEASE_SECONDS } from '../../src/contracts/limits.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { writeTar } from '../../src/contracts/write-tar.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets, type TestSystem } from '../support/system.ts'

const SVC = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url))
const EXPIRE = fileURLToPath(new URL('../support/expire-deployments.ts', import.meta.url))
/** The lease, the worker's turn, and a busy machine. */
const LOST_MS = (DEPLOYMENT_LEASE_SECONDS + 60) * 1000

const own = processes()
let connection: Connection
let url: string
let drop: () => Promise<unknown>
let env: Env
let server: ServerProcess
let system: TestSystem
let org: Org
/** Where commands leave their traces. */
let folder: string
let app: { alias: string; revision: string; token: string }

beforeAll(async () => {
  const postgres = inject('postgres')
  const name = `runner_${randomBytes(4).toString('hex')}`
  await onServer(postgres.url, `create database ${name} template ${postgres.template}`)
  url = databaseUrl(postgres.url, name)
  drop = () => onServer(postgres.url, `drop database ${name} with (force)`)
  connection = await connect({ url })
  const port = await freePort()
  env = {
    PORT: String(port),
    METRICS_PORT: 'off',
    DATABASE_URL: url,
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api,worker',
    // Without the sample, which costs seconds.
    SVC_ORG: 'Home',
    ARGON2_MEMORY_KIB: '64',
    ...freshSecrets(),
  }
  server = await own.start({ env })
  const config = readConfig(env)
  system = {
    system: { config },
    db: connection.db,
    clock: { now: () => new Date() },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
  } as TestSystem
  org = await makeOrganization(system)
})
afterAll(async () => {
  await own.cleanUp()
  await connection?.close()
  await drop?.()
})

beforeEach(async () => {
  folder = await own.newFolder()
  app = await makeApp()
})

const runners = new Set<ReturnType<typeof startRunner>>()
afterEach(async () => {
  for (const { child, exited } of runners) {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await exited
  }
  runners.clear()
})

async function makeApp() {
  const alias = unique('app')
  await org.owner.call(createApp, { alias, name: alias })
  const file = { path: 'src/hello.txt', content: Buffer.from(`hello from ${alias}\n`), isExecutable: false }
  const { id } = await org.owner.call(pushRevision, { alias, body: gzipSync(writeTar([file])) })
  const { token } = await org.owner.call(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
  return { alias, revision: id, token }
}

type RunnerOf = { alias: string; token: string; env?: Record<string, string> }

function startRunner(of: RunnerOf, command: string, ...more: string[]) {
  const child = spawn(process.execPath, [SVC, 'apps', 'runner', of.alias, '--exec', command, ...more], {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      SVC_API_URL: server.origin,
      SVC_API_KEY: of.token,
      TRACES: folder,
      ...of.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const runner = { child, exited, said: () => said }
  runners.add(runner)
  return runner
}

const deploy = async (of = app) =>
  (await org.owner.call(createDeployment, { alias: of.alias, revision_id: of.revision })).id
const show = (id: string, of = app) => org.owner.call(showDeployment, { alias: of.alias, deployment_id: id })
const outputOf = async (id: string) =>
  (await org.owner.call(readDeploymentOutput, { alias: app.alias, deployment_id: id })).text

async function until(what: string, holds: () => Promise<boolean> | boolean, ms = 60_000): Promise<void> {
  for (const startedAt = Date.now(); !(await holds());) {
    if (Date.now() - startedAt > ms) {
      throw new Error(`${what}: not within ${ms} ms\n${[...runners].map(({ said }) => said()).join('\n')}`)
    }
    await sleep(100)
  }
}
const untilEnded = async (id: string, of = app, ms?: number) => {
  await until(`${id} ends`, async () => (await show(id, of)).ended_at !== null, ms)
  return show(id, of)
}
const trace = (name: string) => join(folder, name)
const pidIn = async (name: string): Promise<number> => {
  await until(name, async () => existsSync(trace(name)) && (await readFile(trace(name), 'utf8')) !== '')
  return Number(await readFile(trace(name), 'utf8'))
}
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Told once: recorded, and perhaps shipped by the worker already. */
async function eventsOf(id: string): Promise<number> {
  const subject = `deployments/${id}`
  const [waiting] = await connection.db
    .select({ n: sql<number>`count(*)::int` })
    .from(outbox)
    .where(and(eq(outbox.orgId, org.id), eq(outbox.subject, subject)))
  const [shipped] = await connection.db
    .select({ n: sql<number>`count(*)::int` })
    .from(events)
    .where(and(eq(events.orgId, org.id), eq(events.subject, subject)))
  return waiting!.n + shipped!.n
}

test('a revision is deployed while the server restarts, and the command knows all but the token', async () => {
  const command =
    'cat src/hello.txt; echo "$SVC_APP $SVC_REVISION $SVC_DEPLOYMENT fence=$SVC_FENCE key=[$SVC_API_KEY]"; ' +
    'echo "password=correcthorse"; touch $TRACES/begun; while [ ! -e $TRACES/go ]; do sleep 0.1; done; echo end; touch $TRACES/ended'
  const runner = startRunner(app, command, '--once')
  const id = await deploy()
  await until('the command begins', () => existsSync(trace('begun')))
  await server.stop()
  await writeFile(trace('go'), '')
  await until('the command ends', () => existsSync(trace('ended')))
  // As if it had been away for an hour: the worker finds the lease over before the runner has met a server again.
  await connection.db
    .update(rows)
    .set({ leaseUntil: sql`now() - interval '1 hour'` })
    .where(and(eq(rows.orgId, org.id), eq(rows.id, id)))
  server = await own.start({ env })
  expect(await untilEnded(id)).toMatchObject({ state: 'succeeded', exit_code: 0 })
  expect(await runner.exited).toBe(0)
  expect(await outputOf(id)).toBe(
    `hello from ${app.alias}\n${app.alias} ${app.revision} ${id} fence=1 key=[]\npassword=[hidden]\nend\n`,
  )
  expect(await eventsOf(id)).toBe(0)
})

test('a runner without a temporary folder says so, and ends', async () => {
  const runner = startRunner({ ...app, env: { TMPDIR: trace('gone') } }, 'true', '--once')
  const id = await deploy()
  expect(await untilEnded(id)).toMatchObject({ state: 'failed', code: 'RUNNER_FAILED' })
  expect(await runner.exited).toBe(11)
})

test('a command that ends with 0 when it is asked to stop has not succeeded', async () => {
  startRunner(app, `trap 'exit 0' TERM; echo $$ > $TRACES/begun; while :; do sleep 0.1; done`)
  const id = await deploy()
  await pidIn('begun')
  await org.owner.call(cancelDeployment, { alias: app.alias, deployment_id: id })
  expect(await untilEnded(id)).toMatchObject({ state: 'cancelled', exit_code: 0 })
  expect(await eventsOf(id)).toBe(0)
})

test('cancelling and the time-out end the command with all that it started', async () => {
  const command = `sh -c 'echo $$ > $TRACES/$SVC_DEPLOYMENT; sleep 1000' & wait`
  startRunner(app, command, '--command-timeout', '5')
  const [cancelled, slow] = [await deploy(), await deploy()]
  const first = await pidIn(cancelled)
  await org.owner.call(cancelDeployment, { alias: app.alias, deployment_id: cancelled })
  expect(await untilEnded(cancelled)).toMatchObject({ state: 'cancelled' })
  const second = await pidIn(slow)
  expect(await untilEnded(slow)).toMatchObject({ state: 'failed', code: 'TIMED_OUT' })
  await until('both are gone', () => !isAlive(first) && !isAlive(second))
  expect([await eventsOf(cancelled), await eventsOf(slow)]).toEqual([0, 1])
})

test('a runner that is asked to stop finishes first, and stops its command when asked again', async () => {
  const command =
    'echo $$ > $TRACES/$SVC_DEPLOYMENT; while [ ! -e $TRACES/go-$SVC_DEPLOYMENT ]; do sleep 0.1; done'
  const patient = startRunner(app, command)
  const first = await deploy()
  await pidIn(first)
  patient.child.kill('SIGTERM')
  await until('it is asked to stop', () => patient.said().includes('Stopping after'))
  await writeFile(trace(`go-${first}`), '')
  expect(await patient.exited).toBe(0)
  expect(await show(first)).toMatchObject({ state: 'succeeded' })
  const hurried = startRunner(app, command)
  const second = await deploy()
  await pidIn(second)
  hurried.child.kill('SIGINT')
  await until('it is asked to stop', () => hurried.said().includes('Stopping after'))
  hurried.child.kill('SIGINT')
  expect(await hurried.exited).toBe(0)
  expect(await show(second)).toMatchObject({ state: 'failed', code: 'RUNNER_FAILED' })
  const idle = startRunner(app, command)
  await until('it waits', () => idle.said().includes('Waiting'))
  idle.child.kill('SIGTERM')
  expect(await idle.exited).toBe(0)
})

test('two runners run each deployment once, one at a time and in order', async () => {
  // Two at once would find each other's folder.
  const command =
    'mkdir $TRACES/lock || echo overlap >> $TRACES/log; echo "$SVC_FENCE" >> $TRACES/log; sleep 0.3; rmdir $TRACES/lock'
  startRunner(app, command, '--name', 'one')
  startRunner(app, command, '--name', 'two')
  const ids = [await deploy(), await deploy(), await deploy(), await deploy(), await deploy(), await deploy()]
  for (const id of ids) expect(await untilEnded(id)).toMatchObject({ state: 'succeeded' })
  expect(await readFile(trace('log'), 'utf8')).toBe('1\n2\n3\n4\n5\n6\n')
})

test('a runner that was killed or frozen past its lease is lost, once; the next waits for a person or its word', async () => {
  const command = `echo $$ > $TRACES/$SVC_DEPLOYMENT; [ "$SVC_FENCE" != 1 ] || exec sleep 1000`
  const [killedApp, frozenApp] = [app, await makeApp()]
  const killed = startRunner(killedApp, command)
  const frozen = startRunner(frozenApp, command)
  const [lost, stuck] = [await deploy(killedApp), await deploy(frozenApp)]
  const [child, kept] = [await pidIn(lost), await pidIn(stuck)]
  killed.child.kill('SIGKILL')
  frozen.child.kill('SIGSTOP')
  const [next, after] = [await deploy(killedApp), await deploy(frozenApp)]
  expect(await untilEnded(lost, killedApp, LOST_MS)).toMatchObject({ state: 'failed', code: 'RUNNER_LOST' })
  expect(await untilEnded(stuck, frozenApp, LOST_MS)).toMatchObject({ state: 'failed', code: 'RUNNER_LOST' })

  // Its command lives on, so another runner gets nothing until a person has looked.
  expect(isAlive(child)).toBe(true)
  const another = startRunner(killedApp, command)
  await until('another one waits', () => another.said().includes('Waiting'))
  const asked = { alias: killedApp.alias, runner: 'one more', wait_seconds: 0 }
  const claimed = await system.as({ token: killedApp.token })(claimDeployment, asked)
  expect(claimed.deployment).toBeNull()
  expect(await show(next, killedApp)).toMatchObject({ state: 'queued' })
  process.kill(child, 'SIGKILL')
  await org.owner.call(confirmDeploymentEnded, { alias: killedApp.alias, deployment_id: lost })
  expect(await untilEnded(next, killedApp)).toMatchObject({ state: 'succeeded' })

  // The frozen one learns that it was taken for lost, stops its command and says so; then it goes on.
  expect(await show(after, frozenApp)).toMatchObject({ state: 'queued' })
  frozen.child.kill('SIGCONT')
  expect(await untilEnded(after, frozenApp)).toMatchObject({ state: 'succeeded' })
  expect(isAlive(kept)).toBe(false)
  expect(await show(stuck, frozenApp)).toMatchObject({
    state: 'failed',
    code: 'RUNNER_LOST',
    blocks_next: false,
  })
  expect([await eventsOf(lost), await eventsOf(stuck), await eventsOf(next), await eventsOf(after)]).toEqual([
    1, 1, 0, 0,
  ])
})

test('a worker that is killed between write and commit leaves nothing behind, and of two others one tells it', async () => {
  const expire = (...args: string[]) =>
    new Promise<NodeJS.Signals | null>((resolve) => {
      spawn(process.execPath, [EXPIRE, url, ...args], { stdio: 'inherit' }).once('exit', (_code, signal) =>
        resolve(signal),
      )
    })
  // The server's own worker would be faster.
  await server.stop()
  const now = new Date()
  const base = { orgId: org.id, revisionId: app.revision, requestedBy: 'somebody', requestedAt: now }
  const [unclaimed, lost] = [unique('dep'), unique('dep')]
  await connection.db.insert(rows).values([
    {
      ...base,
      id: unclaimed,
      appId: unique('app'),
      fence: 1,
      state: 'queued',
      requestedAt: new Date(now.getTime() - 25 * 3_600_000),
    },
    {
      ...base,
      id: lost,
      appId: unique('app'),
      fence: 1,
      state: 'running',
      startedAt: now,
      leaseUntil: new Date(now.getTime() - 1_000),
    },
  ])
  const states = async () =>
    Promise.all(
      [unclaimed, lost].map(async (id) => {
        const [row] = await connection.db.select().from(rows).where(eq(rows.id, id))
        return [row!.state, row!.code, await eventsOf(id)]
      }),
    )
  for (let kills = 0; kills < 3; kills++) expect(await expire('killed')).toBe('SIGKILL')
  expect(await states()).toEqual([
    ['queued', null, 0],
    ['running', null, 0],
  ])
  await Promise.all([expire(), expire()])
  expect(await states()).toEqual([
    ['failed', 'NO_RUNNER', 1],
    ['failed', 'RUNNER_LOST', 1],
  ])
  server = await own.start({ env })
})
