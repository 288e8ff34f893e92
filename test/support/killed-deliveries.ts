/** Deliveries to a real receiver by workers that are killed, and what is true of them afterwards. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Connection } from '../../db/connect.ts'
import { and, asc, eq, isNull } from '../../db/drizzle.ts'
import { attempts, deliveries, messages } from '../../db/schema.ts'
import { LANES } from '../../src/contracts/limits.ts'
import { receivedId } from '../../src/cores/notifications/channels/received-id.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import type { NotificationHarness } from './notification-harness.ts'
import type { WorkerSettings } from './notification-worker.ts'

const WORKER = fileURLToPath(new URL('./notification-worker.ts', import.meta.url))
/** Short, so that a test sees them run out; longer than any honest answer of the receiver. */
export const LEASES = { claimLeaseSeconds: 3, attemptLeaseSeconds: 3 }

/** Writes down first and answers afterwards, at its leisure. Some it refuses, once: then it has kept nothing. */
export async function openReceiver() {
  const ids: string[] = []
  let [connections, requests, posts] = [0, 0, 0]
  let midst = { at: Number.POSITIVE_INFINITY, reached: () => {} }
  const refused = new Set<string>()
  const server: Server = createServer((incoming, outgoing) => {
    requests++
    let body = ''
    incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
    incoming.on('end', () => {
      // Those that waited share a POST.
      const taken = (JSON.parse(body) as { id: string }[]).map(({ id }) => id)
      // Each once, with whomever it comes: twice refused, it would wait for longer than the test.
      if (Math.random() < 0.05 && !taken.some((id) => refused.has(id))) {
        for (const id of taken) refused.add(id)
        return void outgoing.writeHead(503).end()
      }
      ids.push(...taken)
      if (++posts === midst.at) midst.reached()
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
    /** Until so many more POSTs have come. The last of them has no answer yet: a kill is worth something while messages are on their way. */
    untilPosts(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      midst = { at: posts + count, reached: resolve }
      return promise
    },
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
/** For `afterEach` or `afterAll`. */
export const endWorkers = async () => void (await Promise.all([...running].map(end)))

export async function startWorker(settings: WorkerSettings): Promise<Running> {
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

export async function end({ child, exited }: Running): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

export async function untilDone(worker: Running): Promise<void> {
  for (let waited = 0; worker.left() > 0 && waited < 120_000; waited += 200) await sleep(200)
}

export async function makeEndpoints(
  harness: NotificationHarness,
  url: (name: string) => string,
  endpoints: number,
) {
  const org = await harness.organization()
  for (let n = 0; n < endpoints; n++) {
    const { integrationId } = await harness.integration(org, 'webhook', { url: url(`hook-${n}`) })
    await harness.subscription(org, integrationId, 'deploy.*')
  }
  return org
}

/** Everything that the promise is about, from the rows and from the receiver's own list. */
export async function weigh(
  { db }: Pick<Connection, 'db'>,
  { orgId, dataKey }: { readonly orgId: string; readonly dataKey: string },
  received: readonly string[],
) {
  const ofType = await db
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
  const targets = new Map(open.map(({ id, target }) => [id, target]))
  const keys = dataKeys(dataKey)
  /** By the id that the receiver sees. */
  const rows = ofType.map((row) => ({
    ...row,
    id: receivedId(keys, { ...row, target: targets.get(row.messageId!)! }),
  }))
  const got = new Set(received)
  const unconfirmed = rows.filter(({ reason }) => reason === 'outcome_unknown')
  return {
    rows: rows.length,
    twice: received.length - got.size,
    sentButNotReceived: rows.filter(({ id, state }) => state === 'sent' && !got.has(id)).length,
    receivedButUnknown: received.filter((id) => !rows.some((row) => row.id === id)).length,
    notSettled: rows.filter(({ state }) => state === 'waiting' || state === 'retrying').length,
    // A digest of notices waits for its hour.
    stuck: open.filter(({ state }) => ['pending', 'claimed', 'sending'].includes(state)).length,
    otherReasons: [...new Set(rows.map(({ reason }) => reason))].filter(
      (reason) => reason !== null && reason !== 'outcome_unknown',
    ),
    unconfirmed: unconfirmed.length,
    // Those that waited share a POST, and with it its lost answer.
    unconfirmedPosts: unknown.length,
    unconfirmedThatArrived: unconfirmed.filter(({ id }) => got.has(id)).length,
  }
}

/** `rows`: how many deliveries there are. Of each endpoint a kill leaves two unconfirmed, and no more. */
export const promised = (rows: number, kills: number, endpoints: number) => ({
  rows,
  twice: 0,
  sentButNotReceived: 0,
  receivedButUnknown: 0,
  notSettled: 0,
  stuck: 0,
  otherReasons: [],
  unconfirmedPosts: expect.toSatisfy(
    (n: number) => n <= kills * endpoints * LANES.perTarget,
    `at most ${kills} x ${endpoints} x ${LANES.perTarget}`,
  ),
})
