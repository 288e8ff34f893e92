/**
 * Sends a second against another queue on the same Postgres, what a healthy receiver feels of those that hang, what a
 * fan-out costs the database, and how fair a claim is.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSocketServer, type AddressInfo, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Connection } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { readMigrations } from '../db/read-migrations.ts'
import { FAN_OUT_EVENTS, IN_FLIGHT, LANES } from '../src/contracts/limits.ts'
import { claimMessages } from '../src/cores/notifications/delivery/claim-messages.ts'
import { prepareMonths } from '../src/cores/partitions.ts'
import { shipOutbox } from '../src/cores/outbox.ts'
import { shipAndFanOut } from '../src/cores/notifications/index.ts'
import { notificationHarness, type HarnessOrg } from '../test/support/notification-harness.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { selfSigned } from '../test/support/self-signed.ts'
import { cpuSeconds, file, freePort, median, run, untilSays, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { timed } from './timing.ts'
import { roundsOf, sized } from './sizes.ts'

/** Against its plain mode over https, with the same TLS and kept connections. */
const TARGET = 1
const ROUNDS = roundsOf(3)
/** What it is compared with is installed apart; without it the rest is measured all the same. */
const HAS_GRAPHILE = existsSync(file('node_modules/graphile-worker'))
/**
 * Ten messages to each of them: within what a webhook may get at once, so no limit of ours decides the race. Of several
 * organizations, because each has a quarter of the slots.
 */
const WEBHOOKS = sized(1_000, 20)
const ORGANIZATIONS = 10
export const EVENTS = 10
const MESSAGES = WEBHOOKS * EVENTS
/** At once: the last is the least that a process of the product has. */
const GROUPS = [8, 32, IN_FLIGHT.min]
const SUBSCRIPTIONS = sized(10_000, 100)
const FAN_OUT_TARGET_SECONDS = 1
const BACKLOG = sized(100_000, 1_000)
const FLOOD = sized(20_000, 10 * FAN_OUT_EVENTS)
const FLOOD_TARGET = 2_000
/** Receivers that accept and never answer, of the organization whose healthy one is measured. */
const HUNG = [4, 20, 40]
const HUNG_TARGET = 2
/** More than are fanned out while it is measured. */
const WAITING = sized(10_000, 100)
/** Of which the median counts. */
const MEASURED = sized(40, 4)
const EVERY_MS = 250
const SCHEMES = ['http', 'https'] as const
type Scheme = (typeof SCHEMES)[number]

type Seen = { perSecond: number[]; nodeMs: number[]; databaseMs: number[] }
type Racer = { readonly name: string; readonly race: (round: string) => Promise<void>; readonly seen: Seen }

const PARTS: Readonly<Record<string, (stage: Stage) => Promise<string[]>>> = {
  http: (stage) => messagesPerSecond(stage, 'http', [IN_FLIGHT.min]),
  https: (stage) => messagesPerSecond(stage, 'https', GROUPS),
  neighbors: (stage) => besideHung(stage),
  'fan-out': (stage) => fanOutCost(stage),
  flood: (stage) => flood(stage),
  fairness: (stage) => fairness(stage),
}

/** `BENCH_PART` names one of them, to be run alone. */
export async function notifications(): Promise<string[]> {
  const asked = process.env['BENCH_PART']
  const parts = asked === undefined ? Object.values(PARTS) : [PARTS[asked]]
  const postgres = await startPostgres()
  try {
    return await withReceiver(postgres.url, async (stage) => {
      const lines = HAS_GRAPHILE
        ? []
        : ['without graphile-worker, which is not installed (npm ci --prefix bench --legacy-peer-deps)']
      for (const part of parts) {
        if (!part) throw new Error(`BENCH_PART: one of ${Object.keys(PARTS).join(', ')}`)
        lines.push(...(await part(stage)))
      }
      return lines
    })
  } finally {
    await postgres.stop()
  }
}

/** A program that gets the messages, and counts them. */
export async function withReceiver<T>(url: string, work: (stage: Stage) => Promise<T>): Promise<T> {
  const [port, securePort] = [await freePort(), await freePort()]
  const certificate = selfSigned(`*.${HOST}`)
  const receiver = run([
    file('notification-receiver.ts'),
    JSON.stringify({ port, securePort, ...certificate }),
  ])
  try {
    await untilSays('ready', receiver)
    return await work({
      url,
      at: `http://127.0.0.1:${port}`,
      ports: { http: port, https: securePort },
      ca: certificate.cert,
    })
  } finally {
    await receiver.stop()
  }
}

export type Stage = {
  readonly url: string
  readonly at: string
  readonly ports: Readonly<Record<Scheme, number>>
  readonly ca: string
}

/** A host of its own for each webhook, as in life: connections are kept for each, by both contestants. */
const HOST = 'receiver.localhost'
export const addressOf = ({ ports }: Stage, scheme: Scheme, run: string, n: number | '{n}') =>
  `${scheme}://w${n}.${HOST}:${ports[scheme]}/${run}/${n}`

async function messagesPerSecond(stage: Stage, scheme: Scheme, groups: readonly number[]): Promise<string[]> {
  const racers: Racer[] = [
    ...groups.map((group) => ({
      name: `svc, ${group} at once`,
      race: (round: string) => ours(stage, scheme, round, group, racers),
      seen: nothing(),
    })),
    ...(HAS_GRAPHILE ? [false, true] : []).map((localQueue) => ({
      name: `graphile-worker${localQueue ? ' with its local queue' : ''}`,
      race: (round: string) => graphile(stage, scheme, round, localQueue, racers),
      seen: nothing(),
    })),
  ]
  // The first round warms the machine and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { race } of racers) await race(`${round}`)
    if (round === 0) for (const { seen } of racers) Object.assign(seen, nothing())
  }
  const rate = (name: string) => median(racers.find((racer) => racer.name === name)!.seen.perSecond)
  const lines = racers.map(
    ({ name, seen }) =>
      `${scheme}, ${name}: ${median(seen.perSecond).toFixed(0)} sends/s, CPU each: Node ${median(seen.nodeMs).toFixed(2)} ms, Postgres ${median(seen.databaseMs).toFixed(2)} ms`,
  )
  if (!HAS_GRAPHILE) return lines
  const own = rate(`svc, ${IN_FLIGHT.min} at once`)
  const against = (name: string) => own / rate(name)
  const ratio = against('graphile-worker')
  const target = scheme === 'https' ? ` (target ${TARGET}x: ${metOrMissed(ratio >= TARGET)})` : ''
  return [
    ...lines,
    `${scheme}, against graphile-worker: ${ratio.toFixed(2)}x${target}, with its local queue ${against('graphile-worker with its local queue').toFixed(2)}x`,
  ]
}

const nothing = (): Seen => ({ perSecond: [], nodeMs: [], databaseMs: [] })

/** With ledger and signature; the events are fanned out before the clock runs. */
async function ours(
  stage: Stage,
  scheme: Scheme,
  round: string,
  group: number,
  racers: readonly Racer[],
): Promise<void> {
  await inDatabase(stage.url, async (connection, url) => {
    const dataKey = randomBytes(32).toString('hex')
    const run = `ours-${scheme}-${group}-${round}`
    await fillMessages(connection, dataKey, WEBHOOKS, (n) => addressOf(stage, scheme, run, n))
    const settings = JSON.stringify({ url, dataKey, group, ca: stage.ca })
    await measure(
      stage,
      connection,
      run,
      [file('notification-sender.ts'), settings],
      seenBy(racers, `svc, ${group} at once`),
    )
  })
}

/** Ten events for each webhook, fanned out and due. */
export async function fillMessages(
  connection: Connection,
  dataKey: string,
  webhooks: number,
  addressOfWebhook: (n: number) => string,
): Promise<void> {
  const harness = await notificationHarness(connection, dataKey, Date.now())
  for (let first = 0; first < webhooks; first += webhooks / ORGANIZATIONS) {
    const org = await harness.organization()
    for (let n = first; n < first + webhooks / ORGANIZATIONS; n++) {
      const { integrationId } = await harness.integration(org, 'webhook', { url: addressOfWebhook(n) })
      await harness.subscription(org, integrationId, 'deploy.*')
    }
    for (let n = 0; n < EVENTS; n++) await harness.record(org, { type: 'deploy.failed' })
  }
  while (await shipAndFanOut(harness.deps));
  // Those that wait for seconds would share a POST, which other queues do not do.
  await connection.sql.query('update messages set goes_alone = true')
}

async function graphile(
  stage: Stage,
  scheme: Scheme,
  round: string,
  localQueue: boolean,
  racers: readonly Racer[],
): Promise<void> {
  await inDatabase(stage.url, async (connection, url) => {
    const run = `theirs-${scheme}-${localQueue}-${round}`
    const fill = { count: MESSAGES, targets: WEBHOOKS, to: addressOf(stage, scheme, run, '{n}') }
    await finished([file('graphile.mjs'), JSON.stringify({ url, fill })])
    const name = `graphile-worker${localQueue ? ' with its local queue' : ''}`
    const settings = JSON.stringify({ url, localQueue, ca: stage.ca })
    await measure(stage, connection, run, [file('graphile.mjs'), settings], seenBy(racers, name))
  })
}

const seenBy = (racers: readonly Racer[], name: string): Seen =>
  racers.find((racer) => racer.name === name)!.seen

/** From the first message that arrives to the last: neither a start nor a poll counts. */
async function measure(
  { at }: Stage,
  connection: Connection,
  name: string,
  program: readonly string[],
  seen: Seen,
): Promise<void> {
  // As it would be after the first minute, when the server has counted its rows.
  await connection.sql.query('vacuum analyze')
  const postmaster = await postmasterOf(connection)
  const databaseBefore = databaseSeconds(postmaster)
  const racer = run(program)
  try {
    await untilSays('ready', racer)
    const nodeBefore = cpuSeconds(racer)
    const result = await untilReceived(`${at}/${name}`, MESSAGES, [racer])
    seen.perSecond.push(((MESSAGES - 1) / result.ms) * 1000)
    seen.nodeMs.push(((cpuSeconds(racer) - nodeBefore) * 1000) / MESSAGES)
    seen.databaseMs.push(((databaseSeconds(postmaster) - databaseBefore) * 1000) / MESSAGES)
  } finally {
    await racer.stop()
  }
}

/** Each of them once. */
export async function untilReceived(
  url: string,
  messages: number,
  senders: readonly Program[],
): Promise<{ ms: number }> {
  for (;;) {
    const { count, distinct, ms } = (await (await fetch(url)).json()) as {
      count: number
      distinct: number
      ms: number
    }
    if (distinct === messages && count === messages) return { ms }
    if (count > messages) throw new Error('something arrived twice')
    const ended = senders.find(({ child }) => child.exitCode !== null)
    if (ended) throw new Error(`it ended: ${ended.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function finished(args: readonly string[]): Promise<void> {
  const program = run(args)
  const code = await new Promise((resolve) => program.child.once('exit', resolve))
  if (code !== 0) throw new Error(program.output())
}

/** All of the server, because a commit is not the work of one process. One that ended meanwhile is counted by its parent. */
export function databaseSeconds(postmaster: number): number {
  const own = (fields: readonly string[], at: readonly number[]) =>
    at.reduce((sum, field) => sum + Number(fields[field]), 0) / 100
  let total = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid)
    if (!fields) continue
    // 13 and 14 are the times of children that are over.
    if (Number(pid) === postmaster) total += own(fields, [11, 12, 13, 14])
    else if (Number(fields[1]) === postmaster) total += own(fields, [11, 12])
  }
  return total
}

function statOf(pid: string): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  } catch {
    return undefined
  }
}

export async function postmasterOf({ sql }: Connection): Promise<number> {
  const [row] = await sql.query<{ pid: number }>('select pg_backend_pid() as pid')
  return Number(statOf(String(row!.pid))![1])
}

/** As an installation has them that has run for so long: the oldest first, as they come. */
export async function makeMonths({ db }: Connection, months: number): Promise<void> {
  for (let month = months; month >= 0; month--)
    await prepareMonths({ db, partitions: true }, new Date(Date.now() - month * 30 * 24 * 60 * 60_000))
}

export async function inDatabase<T>(
  server: string,
  work: (connection: Connection, url: string) => Promise<T>,
  months = 0,
): Promise<T> {
  const name = `bench_${randomBytes(4).toString('hex')}`
  const admin = await connect({ url: server }, { poolSize: 1 })
  await admin.sql.query(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const connection = await connect({ url: url.href })
  try {
    await migrate(connection.sql, await readMigrations(file('../db/migrations')))
    await makeMonths(connection, months)
    return await work(connection, url.href)
  } finally {
    await connection.close()
    await admin.sql.query(`drop database ${name} with (force)`)
    await admin.close()
  }
}

/**
 * From the event to the healthy receiver, alone and beside those that hang, as many of each as can be in flight: of its own
 * organization, and of another, which then has many events waiting.
 */
const besideHung = ({ url: server, ca }: Stage) =>
  inDatabase(server, async (connection, url) => {
    const dataKey = randomBytes(32).toString('hex')
    const harness = await notificationHarness(connection, dataKey, Date.now())
    const [busy, other] = [await harness.organization(), await harness.organization()]
    const receivedAt = new Map<string, number>()
    const healthy = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (text: string) => (body += text))
      request.once('end', () => {
        const now = performance.now()
        for (const { subject } of JSON.parse(body) as { subject: string }[]) receivedAt.set(subject, now)
        response.end('ok')
      })
    })
    const silent = createSocketServer((socket) => void socket.on('error', () => {}))
    const listening = async (one: Server) => {
      await once(one.listen(0, '127.0.0.1'), 'listening')
      return `http://127.0.0.1:${(one.address() as AddressInfo).port}`
    }
    const connectTo = async (org: HarnessOrg, address: string, pattern: string) => {
      const { integrationId } = await harness.integration(org, 'webhook', { url: address })
      await harness.subscription(org, integrationId, pattern)
    }
    const healthyAt = await listening(healthy)
    for (const org of [busy, other]) await connectTo(org, `${healthyAt}/${org.id}`, 'deploy.*')
    await connectTo(busy, `${healthyAt}/waiting`, 'pipeline.*')
    const silentAt = await listening(silent)
    const sender = run([
      file('notification-sender.ts'),
      JSON.stringify({ url, dataKey, group: IN_FLIGHT.min, ca }),
    ])
    const measureOnce = async (org: HarnessOrg, n: number) => {
      await sleep(n * EVERY_MS)
      const subject = `things/${randomBytes(8).toString('hex')}`
      const start = performance.now()
      await harness.record(org, { type: 'deploy.failed', subject })
      while (!receivedAt.has(subject)) await sleep(2)
      return receivedAt.get(subject)! - start
    }
    const measured = async (org: HarnessOrg) =>
      median(await Promise.all(Array.from({ length: MEASURED }, (_, n) => measureOnce(org, n))))
    try {
      await untilSays('ready', sender)
      await measured(busy)
      const quiet = { busy: await measured(busy), other: await measured(other) }
      const lines: string[] = []
      const compare = async (what: string, org: HarnessOrg, quietMs: number) => {
        const ms = await measured(org)
        const ratio = ms / quietMs
        lines.push(
          `a healthy receiver beside ${what}: ${ms.toFixed(0)} ms, ${ratio.toFixed(2)}x of its quiet ${quietMs.toFixed(0)} ms (target at most ${HUNG_TARGET}x: ${metOrMissed(ratio <= HUNG_TARGET)})`,
        )
      }
      let hung = 0
      for (const count of HUNG) {
        const more = count - hung
        for (; hung < count; hung++) await connectTo(busy, `${silentAt}/${hung}`, 'application.check.*')
        for (let n = 0; n < 10; n++) await harness.record(busy, { type: 'application.check.failed' })
        while ((await inFlightOf(connection)) < more * LANES.perTarget) await sleep(50)
        await compare(`${count} hung ones of its organization`, busy, quiet.busy)
      }
      await compare(`${hung} hung ones of another organization`, other, quiet.other)
      await connection.sql.query(`
        insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
        select '${busy.id}', 'evt_waiting' || n, 'bench', 'waiting-' || n, 'pipeline.run.failed', 'things/' || n,
          '{"pipeline_id":"pl_1"}', now()
        from generate_series(1, ${WAITING}) n`)
      await compare(
        `${WAITING.toLocaleString('en')} waiting events of another organization`,
        other,
        quiet.other,
      )
      return lines
    } finally {
      // What is in flight to the silent ones would be waited for.
      sender.child.kill('SIGKILL')
      await sender.stop()
      healthy.closeAllConnections()
      for (const one of [healthy, silent]) one.close()
    }
  })

const inFlightOf = async ({ sql }: Connection): Promise<number> =>
  (await sql.query<{ n: number }>(`select count(*)::int as n from messages where state = 'sending'`))[0]!.n

const fanOutCost = ({ url }: Stage) =>
  inDatabase(url, async (connection) => {
    const harness = await notificationHarness(connection)
    const org = await harness.organization()
    const { integrationId } = await harness.integration(org, 'webhook')
    const first = await harness.subscription(org, integrationId, 'deploy.failed')
    // An integration gets an event once, so there is one for each.
    await connection.sql.query(`
      insert into integrations
      select (jsonb_populate_record(i, jsonb_build_object(
        'id', left(i.id, 24) || lpad(n::text, 5, '0'), 'digest', md5(n::text)))).*
      from integrations i cross join generate_series(1, ${SUBSCRIPTIONS - 1}) n where i.id = '${integrationId}'`)
    await connection.sql.query(`
      insert into subscriptions (org_id, id, integration_id, pattern, timing, enabled, created_at)
      select org_id, left(id, 24) || lpad(n::text, 5, '0'), left(integration_id, 24) || lpad(n::text, 5, '0'),
        case when n % 2 = 0 then 'deploy.*' else pattern end, timing, enabled, created_at
      from subscriptions cross join generate_series(1, ${SUBSCRIPTIONS - 1}) n where id = '${first}'`)
    await connection.sql.query('vacuum analyze')
    const postmaster = await postmasterOf(connection)
    const cpu: number[] = []
    const wall: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await harness.record(org, { type: 'deploy.failed' })
      const before = databaseSeconds(postmaster)
      const { ms } = await timed(async () => {
        while (await shipAndFanOut(harness.deps));
      })
      cpu.push(databaseSeconds(postmaster) - before)
      wall.push(ms)
    }
    const rows = await harness.deliveriesOf(org)
    if (rows.length !== SUBSCRIPTIONS * ROUNDS) throw new Error(`${rows.length} deliveries`)
    return [
      `one event to ${SUBSCRIPTIONS.toLocaleString('en')} subscriptions: ${median(cpu).toFixed(2)} s of database CPU (target below ${FAN_OUT_TARGET_SECONDS} s: ${metOrMissed(median(cpu) < FAN_OUT_TARGET_SECONDS)}), ${(median(wall) / 1000).toFixed(2)} s until it is done`,
    ]
  })

/** Many events wait, each for one subscriber: as fast with all of them waiting as with the last ones. */
const flood = ({ url }: Stage) =>
  inDatabase(url, async (connection) => {
    const harness = await notificationHarness(connection)
    const org = await harness.organization()
    const { integrationId } = await harness.integration(org, 'webhook')
    await harness.subscription(org, integrationId, 'deploy.*')
    await connection.sql.query(`
      insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
      select '${org.id}', 'evt_flood' || n, 'bench', 'flood-' || n, 'deploy.failed', 'things/' || n,
        '{"deployment_id":"dep_1","code":"X"}', now()
      from generate_series(1, ${FLOOD}) n`)
    while ((await shipOutbox(harness.deps)) > 0);
    await connection.sql.query('vacuum analyze')
    const rates: number[] = []
    for (let done = 0; done < FLOOD; done += FLOOD / 10) {
      const { ms } = await timed(async () => {
        for (let n = 0; n < FLOOD / 10; n += FAN_OUT_EVENTS) await shipAndFanOut(harness.deps)
      })
      rates.push((FLOOD / 10 / ms) * 1000)
    }
    const rows = await harness.deliveriesOf(org)
    if (rows.length !== FLOOD) throw new Error(`${rows.length} deliveries`)
    const [first, last] = [rates[0]!, rates.at(-1)!].map((rate) => rate.toFixed(0))
    return [
      `${FLOOD.toLocaleString('en')} waiting events: ${median(rates).toFixed(0)} fanned out a second (target ${FLOOD_TARGET.toLocaleString('en')}: ${metOrMissed(median(rates) >= FLOOD_TARGET)}), the first tenth at ${first}, the last at ${last}`,
    ]
  })

/** One organization has a hundred thousand messages due; another has one. */
const fairness = ({ url }: Stage) =>
  inDatabase(url, async (connection) => {
    const harness = await notificationHarness(connection)
    const [busy, quiet] = [await harness.organization(), await harness.organization()]
    for (const org of [busy, quiet]) {
      const { integrationId } = await harness.integration(org, 'webhook')
      await harness.subscription(org, integrationId, 'deploy.*')
    }
    await harness.record(busy, { type: 'deploy.failed' })
    while (await shipAndFanOut(harness.deps));
    await connection.sql.query(`
      insert into messages (org_id, id, channel, subscription_id, integration_id, target, state, next_at, created_at)
      select org_id, left(id, 20) || lpad(n::text, 9, '0'), channel, subscription_id, integration_id,
        target || (n % 100), 'pending', next_at - interval '1 hour', created_at
      from messages cross join generate_series(1, ${BACKLOG}) n`)
    await connection.sql.query('vacuum analyze')
    const claimer = { worker: 'bench', leaseSeconds: 600 }
    await claimMessages(harness.deps, claimer)
    await harness.record(quiet, { type: 'deploy.failed' })
    while (await shipAndFanOut(harness.deps));
    const times: number[] = []
    for (let claims = 1; claims <= 100; claims++) {
      const { ms, result } = await timed(() => claimMessages(harness.deps, claimer))
      times.push(ms)
      if (result.claimed.some(({ orgId }) => orgId === quiet.id)) {
        for (let more = 0; more < 20; more++) {
          times.push((await timed(() => claimMessages(harness.deps, claimer))).ms)
        }
        return [
          `${BACKLOG.toLocaleString('en')} due rows of one organization  the single event of another is in claim number ${claims} (target 1: ${metOrMissed(claims === 1)}); a claim takes ${median(times).toFixed(1)} ms`,
        ]
      }
    }
    throw new Error('a hundred claims and the other organization was not served')
  })
