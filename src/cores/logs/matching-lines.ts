/** The conditions by which lines are found. */
import type { SQL } from 'drizzle-orm'
import { and, eq, gte, ilike, lt, sql } from '../../../db/drizzle.ts'
import { logGroups, logLines } from '../../../db/schema.ts'
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { likePattern } from '../like-pattern.ts'
import { groupKey, OTHER_GROUP } from './line-ids.ts'
import type { LogApp } from './log-record.ts'

export type LineFilter = {
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly level?: LogLevel | undefined
  readonly text?: string | undefined
  readonly group_id?: string | undefined
}

export const matchingLines = (
  { orgId, id: appId }: LogApp,
  { since, until, level, text, group_id: group }: LineFilter,
): SQL | undefined =>
  and(
    eq(logLines.orgId, orgId),
    eq(logLines.appId, appId),
    since === undefined ? undefined : gte(logLines.at, new Date(since)),
    until === undefined ? undefined : lt(logLines.at, new Date(until)),
    level === undefined ? undefined : gte(logLines.level, LOG_LEVELS.indexOf(level)),
    group === undefined ? undefined : inGroup(group),
    text === undefined || text === '' ? undefined : ilike(logLines.text, likePattern(text)),
  )

function inGroup(id: string): SQL {
  const key = groupKey(id)
  if (key === null) return sql`false`
  if (key !== OTHER_GROUP) return eq(logLines.groupKey, key)
  return sql`not exists (
    select from ${logGroups} as kept
    where kept.org_id = ${logLines.orgId} and kept.app_id = ${logLines.appId} and kept.key = ${logLines.groupKey})`
}
