/**
 * A planned switchover of a Postgres cluster, as callers of two processes see it, against what the cluster itself needs: a bare
 * client that writes through the same HAProxy in the same moment.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { findClusterFolder } from '../test/support/cluster-folder.ts'
import { startCluster, type Cluster } from '../test/support/cluster.ts'
import { openFront, type Front } from '../test/support/front.ts'
import { newDatabase, startOurs } from './connector.ts'
import { OWNER } from './person.ts'
import { freePort, inTemporaryFolder, median, startServer, untilAnswers, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf } from './sizes.ts'

const ROUNDS = roundsOf(5)
const TARGET = 1.5
const WAIT_TARGET_MS = 2_000
/** Nothing that is only read waits for a standby. */
const READ_TARGET_MS = 2_000
/** Between two tries of whoever writes. */
const PAUSE_MS = 20
/** After which the bare client gives a connection up. */
const GIVEN_UP_MS = 1_000
/** Of each round, before it and after it. */
const QUIET_MS = 2_000

export const failover = async (): Promise<string[]> => {
  let found
  try {
    found = await findClusterFolder()
  } catch (error) {
    return [`left out: ${(error as Error).message}`]
  }
  const cluster = await startCluster(found.folder)
  try {
    return await inTemporaryFolder((folder) => measure(cluster, folder))
  } finally {
    await cluster.stop()
    await found.remove()
  }
}

type Call = { readonly ended: number; readonly ms: number; readonly status: number }
type Writer = { readonly calls: readonly Call[]; readonly stop: () => Promise<void> }

async function measure(cluster: Cluster, folder: string): Promise<string[]> {
  const database = await newDatabase(cluster.url, 'svc')
  const secret = () => randomBytes(32).toString('hex')
  const settings = {
    JWT_SECRET: secret(),
    JWT_SIGNING_KEY: secret(),
    ACTOR_ASSERTION_SECRET: secret(),
    DATA_KEY: secret(),
    MANAGED_DATABASE_URL: 'embedded',
    DATABASE_POOL: '8',
  }
  const first = await startOurs(`${folder}/one`, database, settings)
  const programs: Program[] = [first.program]
  try {
    const port = await freePort()
    const second = startServer(`${folder}/two`, port, {
      ...settings,
      ...Object.fromEntries(PUBLIC_URLS.map((url) => [url, first.origin])),
      DATABASE_URL: database,
      TRUSTED_PROXIES: '127.0.0.1,::1',
    })
    programs.push(second)
    await untilAnswers(`http://127.0.0.1:${port}/readyz`, second)
    const front = openFront(first.origin, [Number(new URL(first.origin).port), port])
    try {
      return await race(cluster, database, front)
    } finally {
      front.close()
    }
  } finally {
    await Promise.all(programs.map((program) => program.stop()))
  }
}

const PUBLIC_URLS = ['API_URL', 'AUTH_URL', 'APP_URL', 'MCP_URL', 'SITE_URL']

async function race(cluster: Cluster, database: string, front: Front): Promise<string[]> {
  const made = async (path: string, body: object, token?: string) => {
    const { status, text } = await front.send({ method: 'POST', path, body, ...(token && { token }) })
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text) as { token: string }
  }
  const { token } = await made('/api/v1/sessions', OWNER)
  await made('/api/deploy/apps', { alias: 'switched', name: 'Switched' }, token)
  const sql = postgres(database, { max: 1 })
  await sql`create table bare (at timestamptz not null default now())`
  await sql.end()

  const rounds: { bare: number; ours: number }[] = []
  const calls: Call[] = []
  const reads: Call[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await cluster.untilWhole()
    const bare = writeBare(database)
    const ours = front.ports.map((port) => writeTickets(front, port, token))
    const readers = front.ports.map((port) => read(front, port, token))
    await sleep(QUIET_MS)
    const [primary, from] = [await cluster.primary(), performance.now()]
    await cluster.switchover()
    await cluster.untilPrimaryIsNot(primary)
    while (![bare, ...ours].every((writer) => writer.calls.some((call) => isAfter(call, from, writer)))) {
      await sleep(PAUSE_MS)
    }
    await sleep(QUIET_MS)
    for (const { stop } of [bare, ...ours, ...readers]) await stop()
    rounds.push({ bare: gapOf(bare), ours: Math.max(...ours.map(gapOf)) })
    calls.push(...ours.flatMap((writer) => writer.calls))
    reads.push(...readers.flatMap((reader) => reader.calls))
  }
  return report(rounds, calls, reads)
}

const read = ({ send }: Front, port: number, token: string): Writer =>
  write(async () => (await send({ path: '/api/v1/me', token }, port)).status)

/** Written after something was not. */
const isAfter = (call: Call, from: number, { calls }: Writer): boolean =>
  call.status === 201 &&
  calls.some(({ ended, status }) => status !== 201 && ended > from && ended < call.ended)

/** The longest time in which nothing was written. */
function gapOf({ calls }: Writer): number {
  const ends = calls.filter(({ status }) => status === 201).map(({ ended }) => ended)
  return Math.max(...ends.slice(1).map((end, n) => end - ends[n]!))
}

function write(once: () => Promise<number>): Writer {
  const calls: Call[] = []
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      const began = performance.now()
      const status = await once()
      const ended = performance.now()
      calls.push({ ended, ms: ended - began, status })
      await sleep(PAUSE_MS)
    }
  }
  const running = run()
  return {
    calls,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

function writeTickets({ send }: Front, port: number, token: string): Writer {
  let key = randomUUID()
  return write(async () => {
    const { status } = await send(
      {
        method: 'POST',
        path: '/api/deploy/apps/switched/tickets',
        token,
        headers: { 'idempotency-key': key },
        body: { title: key, body: 'It does not work' },
      },
      port,
    )
    if (status === 201) key = randomUUID()
    return status
  })
}

/** A connection that fails is given up, and the next one is opened at once: no client has it sooner. */
function writeBare(url: string): Writer {
  const open = () => postgres(url, { max: 1, connect_timeout: 1, onnotice: () => {} })
  let sql = open()
  const writer = write(async () => {
    try {
      await Promise.race([
        sql`insert into bare default values`,
        sleep(GIVEN_UP_MS).then(() => Promise.reject()),
      ])
      return 201
    } catch {
      void sql.end({ timeout: 0 })
      sql = open()
      return 0
    }
  })
  return {
    ...writer,
    async stop() {
      await writer.stop()
      await sql.end({ timeout: 1 })
    },
  }
}

function report(
  rounds: readonly { bare: number; ours: number }[],
  calls: readonly Call[],
  reads: readonly Call[],
): string[] {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
  const said = (side: 'bare' | 'ours') => {
    const gaps = rounds.map((round) => round[side])
    return `${seconds(median(gaps))} (${gaps.map(seconds).join(', ')})`
  }
  const ratio = median(rounds.map(({ ours }) => ours)) / median(rounds.map(({ bare }) => bare))
  const longest = Math.max(...calls.map(({ ms }) => ms))
  const longestRead = Math.max(...reads.map(({ ms }) => ms))
  const of500 = calls.filter(({ status }) => status === 500 || status === 0).length
  const others = [503, 504].map(
    (code) => `${calls.filter(({ status }) => status === code).length} of ${code}`,
  )
  return [
    `bare client    nothing written for ${said('bare')}`,
    `svc            nothing written for ${said('ours')}`,
    `ratio          ${ratio.toFixed(2)}x (target ${TARGET}x: ${metOrMissed(ratio <= TARGET)})`,
    `calls          ${calls.length}: ${others.join(', ')}, ${of500} of 500 or without an answer (target 0: ${metOrMissed(of500 === 0)})`,
    `longest call   ${seconds(longest)} (target ${seconds(WAIT_TARGET_MS)}: ${metOrMissed(longest <= WAIT_TARGET_MS)})`,
    `longest read   ${seconds(longestRead)} (target ${seconds(READ_TARGET_MS)}: ${metOrMissed(longestRead <= READ_TARGET_MS)})`,
  ]
}
