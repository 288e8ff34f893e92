import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { logGroups, logLines } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { OTHER_LINES } from '../../contracts/limits.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import { requireSourceReader } from '../apps/index.ts'
import { list, type Verb } from '../list.ts'
import { groupId, lineId, lineNumber } from './line-ids.ts'
import type { ReadDeps } from './list-logs.ts'
import { matchingLines, type LineFilter } from './matching-lines.ts'
import type { LogApp } from './log-record.ts'
import { searchLines, type Reader } from './search-lines.ts'

type Row = {
  key: string
  template: string | null
  level: number
  count: number
  first_at: Date | string
  last_at: Date | string
  sample: string
}

/** Counted over the lines themselves: what is left of a group after filters and sweeping is what is counted. */
export const listLogGroups: Verb<'listLogGroups', ReadDeps> = list(
  { by: 'principal', rows: 'groups', cursor: 3 },
  async (context, { alias, limit, ...filter }) => {
    const { db, old = db, clock, principal, directory, after, page } = context
    const position = positionOf(after)
    const app = await requireSourceReader(directory, db, principal, alias)
    // Of the first page, so that the counts of the following ones are of the same lines.
    const since = filter.since ?? position?.since ?? new Date(clock().getTime() - DAY_MS).toISOString()
    const which = counted(app, { ...filter, since }, { below: position, order: BY_COUNT, limit: limit + 1 })
    return page({
      rows: () =>
        searchLines(
          { ...context, db: old, signal: principal.signal, userId: principal.userId },
          app,
          async (tx) => (await tx.execute(which)) as unknown as Row[],
        ),
      key: ({ count, key }) => [String(count), key, since],
      present: (rows) => rows.map(presentGroup),
    })
  },
)

const DAY_MS = 24 * 60 * 60_000

const BY_COUNT = sql`sum(lines) desc, coalesce(g.key, 0) desc`
const BY_SEVERITY = sql`max(counted.level) desc, sum(lines) desc, coalesce(g.key, 0) desc`

/** The most severe first, for whoever looks for what is wrong. */
export const findWorstGroups = async (
  deps: Pick<ReadDeps, 'db' | 'logReads'> & Reader,
  app: LogApp,
  filter: LineFilter,
  limit: number,
): Promise<ReturnType<typeof presentGroup>[]> => {
  const rows = await searchLines(
    deps,
    app,
    async (tx) =>
      (await tx.execute(
        counted(app, filter, { below: undefined, order: BY_SEVERITY, limit }),
      )) as unknown as Row[],
  )
  return rows.map(presentGroup)
}

/** Groups with errors of this time of which none of these lines is one, a few of them. Each by its template, also where it is not kept apart. */
export async function findUnreadErrors(
  db: Handle,
  app: LogApp,
  { since, until }: { readonly since: Date; readonly until: Date },
  readIds: readonly string[],
): Promise<string[]> {
  const window = { since: since.toISOString(), until: until.toISOString(), level: 'error' as const }
  const numbers = readIds.flatMap((id) => lineNumber(id) ?? [])
  const rows = (await db.execute(sql`
    select group_key::text as key from ${logLines} where ${matchingLines(app, window)}
    group by group_key having not bool_or(number = any(${`{${numbers.join(',')}}`}::bigint[]))
    order by count(*) desc, group_key limit ${sql.raw(String(UNREAD_SHOWN))}`)) as unknown as {
    key: string
  }[]
  return rows.map(({ key }) => groupId(BigInt(key)))
}

const UNREAD_SHOWN = 20

type Position = { readonly count: string; readonly key: string; readonly since: string }

function positionOf(after: readonly string[] | undefined): Position | undefined {
  if (after === undefined) return undefined
  const [count, key, since] = after as [string, string, string]
  if (!/^\d{1,15}$/.test(count) || !isKey(key) || Number.isNaN(Date.parse(since))) {
    throw new ServiceError('INVALID_REQUEST', 'The cursor is not valid')
  }
  return { count, key, since }
}

const isKey = (text: string): boolean =>
  /^-?\d{1,19}$/.test(text) && BigInt(text) === BigInt.asIntN(64, BigInt(text))

const counted = (
  app: LogApp,
  filter: LineFilter,
  { below, order, limit }: { below: Position | undefined; order: SQL; limit: number },
) => sql`
  with counted as (
    select group_key, max(level) as level, count(*) as lines, min(at) as first_at, max(at) as last_at, max(number) as sample
    from ${logLines} where ${matchingLines(app, filter)} group by group_key
  )
  select coalesce(g.key, 0)::text as key, max(g.template) as template, max(counted.level)::int as level,
    sum(lines)::int as count, min(first_at) as first_at, max(last_at) as last_at, max(sample)::text as sample
  from counted
  left join ${logGroups} as g on g.org_id = ${app.orgId} and g.app_id = ${app.id} and g.key = counted.group_key
  group by coalesce(g.key, 0)
  ${below && sql`having (sum(lines), coalesce(g.key, 0)) < (${below.count}::bigint, ${below.key}::bigint)`}
  order by ${order}
  limit ${sql.raw(String(limit))}`

const presentGroup = ({ key, template, level, count, first_at: first, last_at: last, sample }: Row) => ({
  id: groupId(BigInt(key)),
  template: template ?? OTHER_LINES,
  level: LOG_LEVELS[level]!,
  count,
  first_at: new Date(first).toISOString(),
  last_at: new Date(last).toISOString(),
  sample_id: lineId(Number(sample)),
})
