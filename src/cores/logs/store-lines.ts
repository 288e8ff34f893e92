/** Stores the lines of one request, all or none, in one statement. */
import type { SQL } from 'drizzle-orm'
import { sql } from '../../../db/drizzle.ts'
import { logGroups, logLines, logUsage, logVolumes } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOG_GROUPS_MAX } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import type { LogReads } from './log-reads.ts'
import type { LogApp, ReadLogs } from './log-record.ts'
import { prepareLines, type PreparedLines } from './prepare-lines.ts'

/** What one app may send and keep. */
export type LogLimits = { readonly linesPerMinute: number; readonly bytesPerApp: number }
export type StoreDeps = Storage & { readonly logLimits: LogLimits; readonly logReads: LogReads }

export type Stored = {
  readonly accepted: number
  /** Records that could not be read. */
  readonly rejected: number
  /** Lines that were not stored, because the logs of the app are full. */
  readonly dropped: number
}

/** `read` is called only if the app may send now. */
export async function storeLines(deps: StoreDeps, app: LogApp, read: () => ReadLogs): Promise<Stored> {
  await refuseTooFast(deps, app)
  const { records, rejected: unreadable } = read()
  const prepared = await prepareLines(records, deps.clock().getTime())
  const rejected = unreadable + prepared.rejected
  const lines = prepared.lines.length
  if (lines === 0) return { accepted: 0, rejected, dropped: 0 }
  if (await insertLines(deps, app, prepared)) {
    deps.logReads.arrivals.notify(app)
    return { accepted: lines, rejected, dropped: 0 }
  }
  // Another sender of the app was faster; if not, its logs are full.
  await refuseTooFast(deps, app)
  await countToday(deps, app, { dropped: lines })
  return { accepted: 0, rejected, dropped: lines }
}

const MINUTE_MS = 60_000

/**
 * The bucket holds what may be sent in a minute. A request that comes before it is full is taken whole, whatever its size: the next
 * ones wait the longer.
 */
async function refuseTooFast(deps: StoreDeps, app: LogApp): Promise<void> {
  const [usage] = (await deps.db.execute(sql`
    select (extract(epoch from full_until) * 1000)::float8 as full_until_ms
    from ${logUsage} where ${isOf(app)}`)) as unknown as { full_until_ms: number }[]
  const waitMs = (usage?.full_until_ms ?? 0) - deps.clock().getTime() - MINUTE_MS
  if (waitMs <= 0) return
  await countToday(deps, app, { refused: 1 })
  throw new ServiceError('RATE_LIMITED', 'This app sends more log lines than it may', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

const isOf = ({ orgId, id: appId }: LogApp): SQL => sql`org_id = ${orgId} and app_id = ${appId}`

/** In UTC. */
const dayOf = ({ clock }: Storage): string => clock().toISOString().slice(0, 10)

async function countToday(
  deps: Storage,
  app: LogApp,
  { dropped = 0, refused = 0 }: { dropped?: number; refused?: number },
): Promise<void> {
  const day = sql`${dayOf(deps)}::date`
  const soFar = (column: string) => sql`case when day = ${day} then ${sql.raw(column)} else 0 end`
  await deps.db.execute(sql`
    update ${logUsage}
    set dropped = ${soFar('dropped')} + ${String(dropped)}::bigint,
      refused = ${soFar('refused')} + ${String(refused)}::bigint, day = ${day}
    where ${isOf(app)}`)
}

/** Groups that one request may add: a log in which every line is another one fills the table no faster. */
const GROUPS_PER_REQUEST = 1_000

/** Between two texts of one parameter: no text holds it, and no array of texts is faster to write and to read. */
const SEPARATOR = '\u001f'
const texts = (values: readonly string[]): SQL => sql`string_to_array(${values.join(SEPARATOR)}, chr(31), '')`
const numbers = (values: readonly (number | bigint)[], type: 'bigint' | 'smallint'): SQL =>
  sql`${`{${values.join(',')}}`}::${sql.raw(type)}[]`

/**
 * False: nothing was stored. Everything else follows the row of the app, which the statement locks first: so lines are
 * numbered in the order in which they are committed, and whoever follows them misses none.
 */
async function insertLines(deps: StoreDeps, app: LogApp, prepared: PreparedLines): Promise<boolean> {
  const { orgId, id: appId } = app
  const { lines, bytes } = prepared
  const groups = prepared.groups.slice(0, GROUPS_PER_REQUEST)
  const { volumes } = prepared
  const { linesPerMinute, bytesPerApp } = deps.logLimits
  const now = sql`${deps.clock().toISOString()}::timestamptz`
  const day = sql`${dayOf(deps)}::date`
  const count = sql`${String(lines.length)}::bigint`
  const fill = sql`make_interval(secs => ${String((lines.length * 60) / linesPerMinute)}::float8)`
  const time = (ms: string) => sql`to_timestamp(${sql.raw(ms)}::float8 / 1000)`
  const stored = await deps.db.execute(sql`
    with usage as (
      insert into ${logUsage} as u (org_id, app_id, last_number, stored_bytes, full_until, day, dropped, refused)
      values (${orgId}, ${appId}, ${count}, ${String(bytes)}::bigint, ${now} + ${fill}, ${day}, 0, 0)
      on conflict (org_id, app_id) do update set
        last_number = u.last_number + excluded.last_number,
        stored_bytes = u.stored_bytes + excluded.stored_bytes,
        full_until = greatest(u.full_until, ${now}) + ${fill}
      where u.full_until <= ${now} + interval '1 minute' and u.stored_bytes < ${String(bytesPerApp)}::bigint
      returning last_number - ${count} as before
    ), new_groups as (
      insert into ${logGroups} (org_id, app_id, key, level, template, last_day)
      select ${orgId}, ${appId}, g.key, g.level, g.template, ${day}
      from usage cross join unnest(
        ${numbers(
          groups.map(({ key }) => key),
          'bigint',
        )}, ${numbers(
          groups.map(({ level }) => level),
          'smallint',
        )},
        ${texts(groups.map(({ template }) => template))}
      ) as g (key, level, template)
      where not exists (select from ${logGroups} as known where ${isOf(app)} and known.key = g.key and last_day >= ${day})
        and (
          exists (select from ${logGroups} as known where ${isOf(app)} and known.key = g.key)
          or (select count(*) from (select from ${logGroups} where ${isOf(app)} limit ${sql.raw(String(LOG_GROUPS_MAX))}) as kept)
            < ${sql.raw(String(LOG_GROUPS_MAX))}
        )
      on conflict (org_id, app_id, key) do update set last_day = excluded.last_day
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
