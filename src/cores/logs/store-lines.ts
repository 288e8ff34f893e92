/** Stores the lines of one request, all or none, in one statement. */
import type { SQL } from 'drizzle-orm'
import { keptLocally } from '../../../db/commit-locally.ts'
import { sql } from '../../../db/drizzle.ts'
import { notifySoon } from '../../../db/listen.ts'
import { logGroups, logLines, logUsage, logVolumes } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOG_GROUPS_MAX } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import type { LogApp, ReadLogs } from './log-record.ts'
import { prepareLines, type PreparedLines } from './prepare-lines.ts'

/** What one app may send and keep. */
export type LogLimits = { readonly linesPerMinute: number; readonly bytesPerApp: number }
export type StoreDeps = Storage & { readonly logLimits: LogLimits }

/** A busy app is sent lines a hundred times a second. */
const TOLD_MS = 250

export type Stored = {
  readonly accepted: number
  /** Records that could not be read. */
  readonly rejected: number
  /** Lines that were not stored, because the logs of the app are full. */
  readonly dropped: number
}

/** `read` is called only if the app may send now. `bytes`: of the request. */
export async function storeLines(
  deps: StoreDeps,
  app: LogApp,
  bytes: number,
  read: () => ReadLogs | Promise<ReadLogs>,
): Promise<Stored> {
  const isFull = await refuseTooFast(deps, app)
  const { records, rejected: unreadable } = await readCounted(deps, app, bytes, read)
  const cost = costOf(records.length + unreadable, bytes)
  if (isFull) {
    await noteUsage(deps, app, { cost, dropped: records.length })
    return { accepted: 0, rejected: unreadable, dropped: records.length }
  }
  const prepared = await prepareLines(records, deps.clock().getTime())
  const rejected = unreadable + prepared.rejected
  const lines = prepared.lines.length
  if (lines > 0 && (await insertLines(deps, app, prepared, cost))) {
    await notifySoon(deps.db, 'logs', app.id, TOLD_MS)
    return { accepted: lines, rejected, dropped: 0 }
  }
  await noteUsage(deps, app, { cost, dropped: lines })
  return { accepted: 0, rejected, dropped: lines }
}

/** What could not be read has cost as much. */
async function readCounted(
  deps: StoreDeps,
  app: LogApp,
  bytes: number,
  read: () => ReadLogs | Promise<ReadLogs>,
): Promise<ReadLogs> {
  try {
    return await read()
  } catch (error) {
    await noteUsage(deps, app, { cost: costOf(0, bytes) })
    throw error
  }
}

/** In lines: long ones count as several, whether they are stored or not. */
const costOf = (lines: number, bytes: number): number => Math.max(lines, Math.floor(bytes / BYTES_PER_LINE))
const BYTES_PER_LINE = 1024

const MINUTE_MS = 60_000

/**
 * The bucket holds what may be sent in a minute. A request that comes before it is full is taken whole, whatever its size: the next
 * ones wait the longer. So are those that are under way at the same time; how many there are is limited where bodies are
 * received. True: the app has no room for further lines.
 */
async function refuseTooFast(deps: StoreDeps, app: LogApp): Promise<boolean> {
  const [usage] = (await deps.db.execute(sql`
    select (extract(epoch from full_until) * 1000)::float8 as full_until_ms, stored_bytes::float8 as stored_bytes
    from ${logUsage} where ${isOf(app)}`)) as unknown as { full_until_ms: number; stored_bytes: number }[]
  if (!usage) return false
  const waitMs = usage.full_until_ms - deps.clock().getTime() - MINUTE_MS
  if (waitMs <= 0) return usage.stored_bytes >= deps.logLimits.bytesPerApp
  await noteUsage(deps, app, { refused: 1 })
  throw new ServiceError('RATE_LIMITED', 'This app sends more log lines than it may', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

const isOf = ({ orgId, id: appId }: LogApp): SQL => sql`org_id = ${orgId} and app_id = ${appId}`

/** In UTC. */
const dayOf = ({ clock }: Storage): string => clock().toISOString().slice(0, 10)

/** How long the bucket takes to have room for as much again. */
const fillOf = ({ linesPerMinute }: LogLimits, cost: number): SQL =>
  sql`make_interval(secs => ${String((cost * 60) / linesPerMinute)}::float8)`

/** Of a request that stored nothing. */
async function noteUsage(
  deps: StoreDeps,
  app: LogApp,
  { cost = 0, dropped = 0, refused = 0 }: { cost?: number; dropped?: number; refused?: number },
): Promise<void> {
  if (cost + dropped + refused === 0) return
  const now = sql`${deps.clock().toISOString()}::timestamptz`
  const day = sql`${dayOf(deps)}::date`
  const fill = fillOf(deps.logLimits, cost)
  const soFar = (column: string) => sql`case when u.day = ${day} then u.${sql.raw(column)} else 0 end`
  await deps.db.execute(sql`
    insert into ${logUsage} as u (org_id, app_id, last_number, stored_bytes, full_until, day, dropped, refused)
    values (${app.orgId}, ${app.id}, 0, 0, ${keptLocally(sql`${now} + ${fill}`)}, ${day}, ${String(dropped)}::bigint, ${String(refused)}::bigint)
    on conflict (org_id, app_id) do update set
      full_until = greatest(u.full_until, ${now}) + ${fill},
      dropped = ${soFar('dropped')} + excluded.dropped,
      refused = ${soFar('refused')} + excluded.refused,
      day = excluded.day`)
}

/** Groups that one request may add: a log in which every line is another one fills the table no faster. */
const GROUPS_PER_REQUEST = 1_000

/** Between two texts of one parameter: no text holds it, and no array of texts is faster to write and to read. */
const SEPARATOR = '\u001f'
const texts = (values: readonly string[]): SQL => sql`string_to_array(${values.join(SEPARATOR)}, chr(31), '')`
const numbers = (values: readonly (number | bigint)[], type: 'bigint' | 'smallint'): SQL =>
  sql`${`{${values.join(',')}}`}::${sql.raw(type)}[]`

/**
 * False: nothing was stored, because the app's logs are full. Everything else follows the row of the app, which the
 * statement locks first: so lines are numbered in the order in which they are committed, and whoever follows them misses
 * none.
 */
async function insertLines(
  deps: StoreDeps,
  app: LogApp,
  prepared: PreparedLines,
  cost: number,
): Promise<boolean> {
  const { orgId, id: appId } = app
  const { lines, groups, volumes, bytes } = prepared
  const added = groups.slice(0, GROUPS_PER_REQUEST)
  const groupsMax = sql.raw(String(LOG_GROUPS_MAX))
  const { bytesPerApp } = deps.logLimits
  const now = sql`${deps.clock().toISOString()}::timestamptz`
  const day = sql`${dayOf(deps)}::date`
  const count = sql`${String(lines.length)}::bigint`
  const fill = fillOf(deps.logLimits, cost)
  const time = (ms: string) => sql`to_timestamp(${sql.raw(ms)}::float8 / 1000)`
  const stored = await deps.db.execute(sql`
    with usage as (
      insert into ${logUsage} as u (org_id, app_id, last_number, stored_bytes, full_until, day, dropped, refused)
      values (${orgId}, ${appId}, ${count}, ${String(bytes)}::bigint, ${keptLocally(sql`${now} + ${fill}`)}, ${day}, 0, 0)
      on conflict (org_id, app_id) do update set
        last_number = u.last_number + excluded.last_number,
        stored_bytes = u.stored_bytes + excluded.stored_bytes,
        full_until = greatest(u.full_until, ${now}) + ${fill}
      where u.stored_bytes < ${String(bytesPerApp)}::bigint
      returning last_number - ${count} as before
    ), known_groups as (
      update ${logGroups} as known set last_day = ${day}
      from usage cross join unnest(${numbers(
        groups.map(({ key }) => key),
        'bigint',
      )}) as g (key)
      where ${isOf(app)} and known.key = g.key and known.last_day < ${day}
    ), new_groups as (
      insert into ${logGroups} (org_id, app_id, key, level, template, last_day)
      select ${orgId}, ${appId}, g.key, g.level, g.template, ${day}
      from usage cross join unnest(
        ${numbers(
          added.map(({ key }) => key),
          'bigint',
        )}, ${numbers(
          added.map(({ level }) => level),
          'smallint',
        )},
        ${texts(added.map(({ template }) => template))}
      ) as g (key, level, template)
      where not exists (select from ${logGroups} as known where ${isOf(app)} and known.key = g.key)
      limit ${groupsMax} - (select count(*) from (select from ${logGroups} where ${isOf(app)} limit ${groupsMax}) as kept)
      on conflict (org_id, app_id, key) do nothing
    ), volumes as (
      insert into ${logVolumes} as v (org_id, app_id, at, level, lines, bytes)
      select ${orgId}, ${appId}, ${time('n.ms')}, n.level, n.lines, n.bytes
      from usage cross join unnest(
        ${numbers(
          volumes.map(({ atMs }) => atMs),
          'bigint',
        )}, ${numbers(
          volumes.map(({ level }) => level),
          'smallint',
        )},
        ${numbers(
          volumes.map((volume) => volume.lines),
          'bigint',
        )}, ${numbers(
          volumes.map((volume) => volume.bytes),
          'bigint',
        )}
      ) as n (ms, level, lines, bytes)
      on conflict (org_id, app_id, at, level) do update set lines = v.lines + excluded.lines, bytes = v.bytes + excluded.bytes
    ), stored as (
      insert into ${logLines} (org_id, app_id, number, at, level, group_key, text, service, trace_id)
      select ${orgId}, ${appId}, usage.before + l.n, ${time('l.ms')}, l.level, l.group_key, l.text, l.service, l.trace_id
      from usage cross join unnest(
        ${numbers(
          lines.map(({ atMs }) => atMs),
          'bigint',
        )}, ${numbers(
          lines.map(({ level }) => level),
          'smallint',
        )},
        ${numbers(
          lines.map(({ group }) => group.key),
          'bigint',
        )}, ${texts(lines.map(({ text }) => text))},
        ${texts(lines.map(({ service }) => service))}, ${texts(lines.map(({ traceId }) => traceId))}
      ) with ordinality as l (ms, level, group_key, text, service, trace_id, n)
    )
    select before from usage`)
  return stored.length > 0
}
