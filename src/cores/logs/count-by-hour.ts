/** How often one error was logged, by hour, beside all lines. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { logLines, logUsage } from '../../../db/schema.ts'
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

type Counted = { at: string; errors: number; lines: number; first_error_at: string | null }

/**
 * Of the lines that have arrived after the one with number `after`. Oldest first; hours begin with the deployment and not
 * with the clock, so that none is on both sides of it. `last`: the newest line, at the same moment.
 */
export async function countByHour(
  db: Handle,
  app: LogApp,
  {
    error,
    deployedAt,
    restoredAt,
    after,
    from,
    to,
  }: {
    readonly error: LoggedError
    readonly deployedAt: Date
    /** Since the deployment only what was logged from then on counts. */
    readonly restoredAt: Date | null
    readonly after: number
    readonly from: Date
    readonly to: Date
  },
): Promise<{ readonly hours: readonly Counted[]; readonly last: number }> {
  const isIt = sql`group_key = ${error.group}::bigint ${error.exception === null ? sql`` : sql`and position(${error.exception} in text) > 0`}`
  const rows = await db.execute<{
    at: Date | string | null
    errors: number
    lines: number
    first: Date | string | null
    last: number | string
  }>(sql`
    with counted as (
      select date_bin('1 hour', at, ${deployedAt.toISOString()}::timestamptz) as at,
        count(*) filter (where ${isIt})::int as errors, count(*)::int as lines, min(at) filter (where ${isIt}) as first
      from ${logLines} where ${matchingLines(app, { since: from.toISOString(), until: to.toISOString() })}
        and number > ${String(after)}::bigint
        ${restoredAt === null ? sql`` : sql`and (at < ${deployedAt.toISOString()}::timestamptz or at >= ${restoredAt.toISOString()}::timestamptz)`}
      group by 1
    )
    select counted.*, newest.last
    from (select coalesce(max(last_number), 0) as last from ${logUsage}
      where org_id = ${app.orgId} and app_id = ${app.id}) as newest
    left join counted on true order by counted.at`)
  return {
    last: Number(rows[0]!.last),
    hours: rows.flatMap(({ at, errors, lines, first }) =>
      at === null
        ? []
        : [
            {
              at: new Date(at).toISOString(),
              errors,
              lines,
              first_error_at: first && new Date(first).toISOString(),
            },
          ],
    ),
  }
}
