/** One error of a log: the group of its lines, how often by hour, and the newest of them. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, sql } from '../../../db/drizzle.ts'
import { logGroups, logLines } from '../../../db/schema.ts'
import { INCIDENT_LINES } from '../../contracts/incident-steps.ts'
import { LOG_DAYS } from '../../contracts/limits.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import type { LoggedError } from './count-by-hour.ts'
import { groupId, groupKey, OTHER_GROUP } from './line-ids.ts'
import { presentLine, type ReadDeps } from './list-logs.ts'
import type { LogApp } from './log-record.ts'
import { templateOf } from './log-template.ts'
import { matchingLines } from './matching-lines.ts'
import { searchLines, type Reader } from './search-lines.ts'

const DAY_MS = 24 * 60 * 60_000

/** Null: no group can have this id. The lines of all groups that are not kept apart are no error. */
export function errorOfGroup(id: string): LoggedError | null {
  const key = groupKey(id)
  return key === null || key === OTHER_GROUP ? null : { group: String(key), exception: null }
}

/** The most severe group of an app whose lines share this template. */
export async function findErrorByTemplate(
  db: Handle,
  { orgId, id: appId }: LogApp,
  template: string,
): Promise<LoggedError | null> {
  const [group] = await db
    .select({ key: logGroups.key })
    .from(logGroups)
    .where(and(eq(logGroups.orgId, orgId), eq(logGroups.appId, appId), eq(logGroups.template, template)))
    .orderBy(desc(logGroups.level))
    .limit(1)
  return group ? { group: String(group.key), exception: null } : null
}

/** Undefined: its group is not kept apart. */
export async function findTemplate(
  db: Handle,
  { orgId, id: appId }: LogApp,
  { group }: LoggedError,
): Promise<string | undefined> {
  const [kept] = await db
    .select({ template: logGroups.template })
    .from(logGroups)
    .where(and(eq(logGroups.orgId, orgId), eq(logGroups.appId, appId), eq(logGroups.key, BigInt(group))))
  return kept?.template
}

/** All that are kept apart, the most severe first. */
export const readTemplates = (
  db: Handle,
  { orgId, id: appId }: LogApp,
): Promise<{ key: bigint; template: string; level: number }[]> =>
  db
    .select({ key: logGroups.key, template: logGroups.template, level: logGroups.level })
    .from(logGroups)
    .where(and(eq(logGroups.orgId, orgId), eq(logGroups.appId, appId)))
    .orderBy(desc(logGroups.level), logGroups.key)

type Hour = { at: Date | string; lines: number; first: Date | string; last: Date | string; level: number }

/** Undefined: none of its lines is kept any more. */
export async function readError(
  deps: Pick<ReadDeps, 'db' | 'logReads'> & Reader,
  app: LogApp,
  { group, exception }: LoggedError,
  now: Date,
) {
  const id = groupId(BigInt(group))
  const since = new Date(now.getTime() - LOG_DAYS * DAY_MS).toISOString()
  const isIt = and(
    matchingLines(app, { since, group_id: id }),
    exception === null ? undefined : sql`position(${exception} in ${logLines.text}) > 0`,
  )
  const [hours, rows, template] = await searchLines(deps, app, async (tx) =>
    Promise.all([
      tx.execute(sql`
        select date_bin('1 hour', at, timestamptz '2000-01-01 00:00:00+00') as at, count(*)::int as lines,
          min(at) as first, max(at) as last, max(level)::int as level
        from ${logLines} where ${isIt} group by 1 order by 1`) as unknown as Promise<Hour[]>,
      tx
        .select()
        .from(logLines)
        .where(isIt)
        .orderBy(desc(logLines.at), desc(logLines.number))
        .limit(INCIDENT_LINES),
      findTemplate(tx, app, { group, exception }),
    ]),
  )
  const [newest] = rows
  const [first, last] = [hours[0], hours.at(-1)]
  if (newest === undefined || first === undefined || last === undefined) return undefined
  return {
    group_id: id,
    template: template ?? templateOf(newest.text),
    level: LOG_LEVELS[Math.max(...hours.map(({ level }) => level))]!,
    count: hours.reduce((sum, { lines }) => sum + lines, 0),
    first_at: new Date(first.first).toISOString(),
    last_at: new Date(last.last).toISOString(),
    hours: hours.map(({ at, lines }) => ({ at: new Date(at).toISOString(), lines })),
    lines: rows.map(presentLine),
  }
}
