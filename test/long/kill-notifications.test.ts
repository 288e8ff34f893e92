/**
 * decisions, 11: nothing is lost and nothing arrives twice, whatever happens to the workers. They are killed and frozen at
 * random moments while a real receiver writes down what it gets, before it answers.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, asc, eq, isNull } from '../../db/drizzle.ts'
import { attempts, deliveries, messages } from '../../db/schema.ts'
import { IN_FLIGHT_MAX } from '../../src/contracts/limits.ts'
import { copySnapshot, databaseUrl, onServer } from '../support/database.ts'
import { notificationHarness } from '../support/notification-harness.ts'
import type { WorkerSettings } from '../support/notification-worker.ts'
import { processes } from '../support/process.ts'

const WORKER = fileURLToPath(new URL('../support/notification-worker.ts', import.meta.url))
/** As long, and as often: on a busy machine a process takes seconds to start. */
const KILLING_MS = 25_000
const KILLS_MIN = 6
const ENDPOINTS = 40
/** On a busy machine a worker needs long for what is left. */
const TIMEOUT_MS = 10 * 60_000
/** Short, so that the test sees them run out; longer than any honest answer of the receiver. */
const LEASES = { claimLeaseSeconds: 3, attemptLeaseSeconds: 3 }
const FROZEN_MS = 4_500

/** Writes down first and answers afterwards, at its leisure. Some it refuses, once: then it has kept nothing. */
async function openReceiver() {
  const ids: string[] = []
  let [connections, requests] = [0, 0]
  const refused = new Set<string>()
  const server: Server = createServer((incoming, outgoing) => {
    requests++
    let body = ''
    incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
    incoming.on('end', () => {
      // Those that waited share a POST.
      const taken = (JSON.parse(body) as { id: string }[]).map(({ id }) => id)
      if (Math.random() < 0.05 && !refused.has(taken[0]!)) {
        refused.add(taken[0]!)
        return void outgoing.writeHead(503).end()
      }
      ids.push(...taken)
      setTimeout(() => outgoing.writeHead(200).end(), Math.random() * 20)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    ids,
    /** How many came over a connection that was kept from an earlier one. */
    overKept: () => requests - connections,
    url: (name: string) => `http://127.0.0.1:${port}/${name}`,
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

type Running = {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  /** What was still to do when it last looked. */
  readonly left: () => number
}

const running = new Set<Running>()
afterEach(async () => {
  await Promise.all([...running].map(end))
})

async function startWorker(settings: WorkerSettings): Promise<Running> {
  const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [said, left] = ['', Number.POSITIVE_INFINITY]
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2_000)))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    left = Number(/left (\d+)\n$/.exec(text)?.[1] ?? left)
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const worker = { child, exited, left: () => left }
  running.add(worker)
  void exited.then(() => running.delete(worker))
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    void exited.then(() => reject(new Error(`a worker did not start: ${said}`)))
  })
  return worker
}

async function end({ child, exited }: Running): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

/** A kill is worth something while messages are on their way: after some more of them, and then in the midst of one. */
async function untilInTheMidst(received: readonly string[]): Promise<void> {
  const enough = received.length + 1 + Math.random() * 60
  for (let waited = 0; received.length < enough && waited < 10_000; waited += 5) await sleep(5)
  await sleep(Math.random() * 50)
}

async function untilDone(worker: Running): Promise<void> {
  for (let waited = 0; worker.left() > 0 && waited < 120_000; waited += 200) await sleep(200)
}

type Harness = Awaited<ReturnType<typeof notificationHarness>>

async function makeEndpoints(harness: Harness, url: (name: string) => string) {
  const org = await harness.organization()
  for (let n = 0; n < ENDPOINTS; n++) {
    const { integrationId } = await harness.integration(org, 'webhook', { url: url(`hook-${n}`) })
    await harness.subscription(org, integrationId, 'deploy.*')
  }
  return org
}

/** Everything that the promise is about, from the rows and from the receiver's own list. */
async function weigh({ db }: Pick<Connection, 'db'>, orgId: string, received: readonly string[]) {
  const rows = await db
    .select()
    .from(deliveries)
    // Not the notices to the owner about those that are unconfirmed.
    .where(and(eq(deliveries.orgId, orgId), eq(deliveries.type, 'deploy.failed')))
    .orderBy(asc(deliveries.id))
  const open = await db.select().from(messages).where(eq(messages.orgId, orgId))
  const unknown = await db
    .select()
    .from(attempts)
    .where(and(eq(attempts.orgId, orgId), eq(attempts.reason, 'outcome_unknown'), isNull(attempts.carriedBy)))
  const got = new Set(received)
  const unconfirmed = rows.filter(({ reason }) => reason === 'outcome_unknown')
  return {
    rows: rows.length,
    twice: received.length - got.size,
    sentButNotReceived: rows.filter(({ id, state }) => state === 'sent' && !got.has(id)).length,
    receivedButUnknown: received.filter((id) => !rows.some((row) => row.id === id)).length,
    notSettled: rows.filter(({ state }) => state === 'waiting' || state === 'retrying').length,
    stuck: open.filter(({ state }) => ['open', 'pending', 'claimed', 'sending'].includes(state)).length,
    otherReasons: [...new Set(rows.map(({ reason }) => reason))].filter(
      (reason) => reason !== null && reason !== 'outcome_unknown',
    ),
    unconfirmed: unconfirmed.length,
    // Those that waited share a POST, and with it its lost answer.
    unconfirmedPosts: unknown.length,
    unconfirmedThatArrived: unconfirmed.filter(({ id }) => got.has(id)).length,
  }
}

const promised = (events: number, kills: number) => ({
  rows: events * ENDPOINTS,
  twice: 0,
  sentButNotReceived: 0,
  receivedButUnknown: 0,
  notSettled: 0,
  stuck: 0,
  otherReasons: [],
  unconfirmedPosts: expect.toSatisfy(
    (n: number) => n <= kills * IN_FLIGHT_MAX,
    `at most ${kills} x ${IN_FLIGHT_MAX}`,
  ),
})

describe('two workers over one Postgres', () => {
  let connection: Connection
  let drop: () => Promise<unknown>
  let url: string

  beforeAll(async () => {
    const server = inject('postgres')
    const name = `kill_${randomBytes(4).toString('hex')}`
    await onServer(server.url, `create database ${name} template ${server.template}`)
    url = databaseUrl(server.url, name)
    drop = () => onServer(server.url, `drop database ${name} with (force)`)
    connection = await connect({ url })
  })
  afterAll(async () => {
    await connection?.close()
    await drop?.()
  })

  test(
    'killed and frozen at random: nothing twice, nothing lost, and few unconfirmed',
    { timeout: TIMEOUT_MS },
    async () => {
      const receiver = await openReceiver()
      const dataKey = randomBytes(32).toString('hex')
      const harness = await notificationHarness(connection, dataKey, Date.now())
      const org = await makeEndpoints(harness, receiver.url)
      const settings = { database: { url }, dataKey, ...LEASES }
      let [kills, freezes, recorded] = [0, 0, 0]
      const workers = [await startWorker(settings), await startWorker(settings)]
      const start = Date.now()
      const isOver = () => Date.now() - start > KILLING_MS && kills >= KILLS_MIN
      const produce = (async () => {
        for (; !isOver(); recorded++) {
          await harness.record(org, { type: 'deploy.failed' })
          await sleep(200)
        }
      })()
      while (!isOver()) {
        await untilInTheMidst(receiver.ids)
        const at = Math.random() < 0.5 ? 0 : 1
        const victim = workers[at]!
        if (Math.random() < 0.3) {
          freezes++
          victim.child.kill('SIGSTOP')
          await sleep(FROZEN_MS)
          victim.child.kill('SIGCONT')
        } else {
          kills++
          await end(victim)
          workers[at] = await startWorker(settings)
        }
      }
      await produce
      // One of them is asked to stop, and takes nothing with it.
      workers[0]!.child.kill('SIGTERM')
      expect(await workers[0]!.exited).toBe(0)
      await untilDone(workers[1]!)
      const outcome = await weigh(connection, org.id, receiver.ids)
      console.log(`Postgres: ${kills} kills, ${freezes} freezes, ${recorded} events`, outcome)
      await receiver.close()
      expect(outcome).toMatchObject(promised(recorded, kills + freezes))
      expect(receiver.overKept()).toBeGreaterThan(50)
      expect(outcome.rows - outcome.unconfirmed).toBeGreaterThan(100)
    },
  )
})

describe('one worker over PGlite', () => {
  const own = processes()
  afterAll(() => own.cleanUp())

  test(
    'killed at random moments and started again: nothing twice, nothing lost, and few unconfirmed',
    { timeout: TIMEOUT_MS },
    async () => {
      const receiver = await openReceiver()
      const dataKey = randomBytes(32).toString('hex')
      const folder = join(await own.newFolder(), 'data')
      await copySnapshot(folder)
      const EVENTS = 60
      const first = await connect({ folder })
      const harness = await notificationHarness(first, dataKey, Date.now())
      const org = await makeEndpoints(harness, receiver.url)
      for (let n = 0; n < EVENTS; n++) await harness.record(org, { type: 'deploy.failed' })
      await first.close()

      let kills = 0
      const settings = { database: { folder }, dataKey, ...LEASES }
      const start = Date.now()
      while (Date.now() - start < KILLING_MS || kills < KILLS_MIN) {
        const worker = await startWorker(settings)
        await untilInTheMidst(receiver.ids)
        await end(worker)
        kills++
      }
      const last = await startWorker(settings)
      await untilDone(last)
      last.child.kill('SIGTERM')
      expect(await last.exited).toBe(0)
      const { db, close } = await connect({ folder })
      const outcome = await weigh({ db }, org.id, receiver.ids)
      await close()
      await receiver.close()
      console.log(`PGlite: ${kills} kills, ${EVENTS} events`, outcome)
      expect(outcome).toMatchObject(promised(EVENTS, kills))
      expect(receiver.overKept()).toBeGreaterThan(50)
      expect(outcome.rows - outcome.unconfirmed).toBeGreaterThan(100)
    },
  )
})
