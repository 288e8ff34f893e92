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
import { asc, eq, sql } from '../../db/drizzle.ts'
import { deliveries, events, outbox, sends } from '../../db/schema.ts'
import { SEND_GROUP } from '../../src/contracts/limits.ts'
import { copySnapshot, databaseUrl, onServer } from '../support/database.ts'
import { notificationHouse } from '../support/notification-house.ts'
import type { WorkerSettings } from '../support/notification-worker.ts'
import { processes } from '../support/process.ts'

const WORKER = fileURLToPath(new URL('../support/notification-worker.ts', import.meta.url))
const KILLING_MS = 40_000
const ENDPOINTS = 40
/** Short, so that the test sees them run out; longer than any honest answer of the receiver. */
const LEASES = { claimSeconds: 3, sendingSeconds: 3 }
const FROZEN_MS = 4_500

/** Writes down first and answers afterwards, at its leisure. Some it refuses, once: then it has kept nothing. */
async function openReceiver() {
  const ids: string[] = []
  const refused = new Set<string>()
  const server: Server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
    incoming.on('end', () => {
      const [{ id }] = JSON.parse(body) as [{ id: string }]
      if (Math.random() < 0.05 && !refused.has(id)) {
        refused.add(id)
        return void outgoing.writeHead(503).end()
      }
      ids.push(id)
      setTimeout(() => outgoing.writeHead(200).end(), Math.random() * 20)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    ids,
    url: (name: string) => `http://127.0.0.1:${port}/${name}`,
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

type Running = { readonly child: ChildProcess; readonly exited: Promise<unknown> }

async function startWorker(settings: WorkerSettings): Promise<Running> {
  const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2_000)))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    void exited.then(() => reject(new Error(`a worker did not start: ${said}`)))
  })
  return { child, exited }
}

type House = Awaited<ReturnType<typeof notificationHouse>>

async function makeEndpoints(house: House, url: (name: string) => string) {
  const org = await house.organization()
  for (let n = 0; n < ENDPOINTS; n++) {
    const { integrationId } = await house.connection(org, 'webhook', { url: url(`hook-${n}`) })
    await house.subscription(org, integrationId, 'deploy.*')
  }
  return org
}

/** Everything that the promise is about, from the rows and from the receiver's own list. */
async function weigh({ db }: Pick<Connection, 'db'>, orgId: string, received: readonly string[]) {
  const rows = await db
    .select()
    .from(deliveries)
    .where(eq(deliveries.orgId, orgId))
    .orderBy(asc(deliveries.id))
  const open = await db.select().from(sends).where(eq(sends.orgId, orgId))
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
  unconfirmed: expect.toSatisfy((n: number) => n <= kills * SEND_GROUP, `at most ${kills} x ${SEND_GROUP}`),
})

async function untilQuiet(db: Connection['db'], orgId: string): Promise<void> {
  const deadline = AbortSignal.timeout(90_000)
  for (;;) {
    const [row] = await db.execute<{ n: number }>(sql`
      select (select count(*) from ${outbox} where org_id = ${orgId})
        + (select count(*) from ${events} where org_id = ${orgId} and fanned_out_at is null)
        + (select count(*) from ${sends} where org_id = ${orgId} and state in ('pending', 'claimed', 'sending'))
        as n`)
    if (Number(row!.n) === 0 || deadline.aborted) return
    await sleep(300)
  }
}

const running = new Set<Running>()
afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  await Promise.all([...running].map(({ exited }) => exited))
  running.clear()
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

  test('killed and frozen at random: nothing twice, nothing lost, and few unconfirmed', async () => {
    const receiver = await openReceiver()
    const dataKey = randomBytes(32).toString('hex')
    const house = await notificationHouse(connection, dataKey)
    const org = await makeEndpoints(house, receiver.url)
    const settings = { database: { url }, dataKey, ...LEASES }
    const launch = async () => {
      const worker = await startWorker(settings)
      running.add(worker)
      return worker
    }
    let [kills, freezes, recorded] = [0, 0, 0]
    const workers = [await launch(), await launch()]
    const end = Date.now() + KILLING_MS
    const produce = (async () => {
      while (Date.now() < end) {
        await house.record(org, { type: 'deploy.failed' })
        recorded++
        await sleep(150)
      }
    })()
    while (Date.now() < end) {
      await sleep(200 + Math.random() * 800)
      const at = Math.random() < 0.5 ? 0 : 1
      const victim = workers[at]!
      if (Math.random() < 0.3) {
        freezes++
        victim.child.kill('SIGSTOP')
        await sleep(FROZEN_MS)
        victim.child.kill('SIGCONT')
      } else {
        kills++
        victim.child.kill('SIGKILL')
        await victim.exited
        running.delete(victim)
        workers[at] = await launch()
      }
    }
    await produce
    await untilQuiet(connection.db, org.id)
    // One of them is asked to stop, and takes nothing with it.
    workers[0]!.child.kill('SIGTERM')
    expect(await workers[0]!.exited).toBe(0)
    const outcome = await weigh(connection, org.id, receiver.ids)
    console.log(`Postgres: ${kills} kills, ${freezes} freezes, ${recorded} events`, outcome)
    await receiver.close()
    expect(kills).toBeGreaterThan(5)
    expect(outcome).toMatchObject(promised(recorded, kills + freezes))
    expect(outcome.rows - outcome.unconfirmed).toBeGreaterThan(100)
  })
})

describe('one worker over PGlite', () => {
  const own = processes()
  afterAll(() => own.cleanUp())

  test('killed at random moments and started again: nothing twice, nothing lost, and few unconfirmed', async () => {
    const receiver = await openReceiver()
    const dataKey = randomBytes(32).toString('hex')
    const folder = join(await own.newFolder(), 'data')
    await copySnapshot(folder)
    const EVENTS = 60
    const first = await connect({ folder })
    const house = await notificationHouse(first, dataKey)
    const org = await makeEndpoints(house, receiver.url)
    for (let n = 0; n < EVENTS; n++) await house.record(org, { type: 'deploy.failed' })
    await first.close()

    let kills = 0
    const end = Date.now() + KILLING_MS
    while (Date.now() < end) {
      const worker = await startWorker({ database: { folder }, dataKey, ...LEASES })
      running.add(worker)
      await sleep(500 + Math.random() * 2_500)
      worker.child.kill('SIGKILL')
      kills++
      await worker.exited
      running.delete(worker)
    }
    // The rest in peace: nobody but this process has the folder now.
    const last = await startWorker({ database: { folder }, dataKey, ...LEASES })
    running.add(last)
    const quietSince = () => receiver.ids.length
    for (let seen = -1; seen !== quietSince();) {
      seen = quietSince()
      await sleep(10_000)
    }
    last.child.kill('SIGTERM')
    expect(await last.exited).toBe(0)
    running.delete(last)
    const { db, close } = await connect({ folder })
    const outcome = await weigh({ db }, org.id, receiver.ids)
    await close()
    await receiver.close()
    console.log(`PGlite: ${kills} kills, ${EVENTS} events`, outcome)
    expect(kills).toBeGreaterThan(3)
    expect(outcome).toMatchObject(promised(EVENTS, kills))
    expect(outcome.rows - outcome.unconfirmed).toBeGreaterThan(100)
  })
})
