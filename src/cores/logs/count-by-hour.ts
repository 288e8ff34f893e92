/** How often one error was logged, by hour, beside all lines. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { logLines } from '../../../db/schema.ts'
import type { LogApp } from './log-record.ts'
import { lineNumber } from './line-ids.ts'
import { matchingLines } from './matching-lines.ts'

/** By its group; `exception` tells those apart whose first line says nothing but that a trace follows. */
export type LoggedError = { readonly group: string; readonly exception: string | null }

/** The first line of the log that is cited and still there. */
export async function findLoggedError(
  db: Handle,
  { orgId, id: appId }: LogApp,
  refs: readonly string[],
): Promise<LoggedError | null> {
  const numbers = refs.flatMap((ref) => (ref.startsWith('log:') ? (lineNumber(ref.slice(4)) ?? []) : []))
  if (numbers.length === 0) return null
  const [line] = await db.execute<{ group: string; text: string }>(sql`
    select group_key::text as "group", text from ${logLines}
    where org_id = ${orgId} and app_id = ${appId} and number = any(${`{${numbers.join(',')}}`}::bigint[])
    order by array_position(${`{${numbers.join(',')}}`}::bigint[], number) limit 1`)
  return line ? { group: line.group, exception: exceptionIn(line.text) } : null
}

/** Of text in several lines: the last one that begins with a name, as Python writes it. */
const exceptionIn = (text: string): string | null =>
  /^\s*Traceback /.test(text)
    ? (text
        .split('\n')
        .findLast((line) => /^[A-Za-z_][\w.]{2,150}(?::|$)/.test(line))
        ?.split(':')[0] ?? null)
    : null

/** Oldest first; hours begin with the deployment and not with the clock, so that none is on both sides of it. */
export async function countByHour(
  db: Handle,
  app: LogApp,
  {
    error,
    deployedAt,
    from,
    to,
  }: { readonly error: LoggedError; readonly deployedAt: Date; readonly from: Date; readonly to: Date },
): Promise<{ at: string; errors: number; lines: number; first_error_at: string | null }[]> {
  const isIt = sql`group_key = ${error.group}::bigint ${error.exception === null ? sql`` : sql`and position(${error.exception} in text) > 0`}`
  const rows = await db.execute<{
    at: Date | string
    errors: number
    lines: number
    first: Date | string | null
  }>(sql`
    select date_bin('1 hour', at, ${deployedAt.toISOString()}::timestamptz) as at,
      count(*) filter (where ${isIt})::int as errors, count(*)::int as lines, min(at) filter (where ${isIt}) as first
    from ${logLines} where ${matchingLines(app, { since: from.toISOString(), until: to.toISOString() })}
    group by 1 order by 1`)
  return rows.map(({ at, errors, lines, first }) => ({
    at: new Date(at).toISOString(),
    errors,
    lines,
    first_error_at: first && new Date(first).toISOString(),
  }))
}
