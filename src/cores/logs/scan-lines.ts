/** Log lines as checks read them: counted, or the newest as far as they fit. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { logGroups, logLines } from '../../../db/schema.ts'
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { likePattern } from '../like-pattern.ts'
import { matchingLines } from './matching-lines.ts'

export type LineRange = {
  readonly orgId: string
  readonly appId: string
  readonly since: Date
  /** This level and more severe ones. */
  readonly level: LogLevel
}

/** Looked at to count: the database needs about a second for so many. */
const SCANNED_MAX = 1_000_000
const PAGE_LINES = 1_000
/** A line counts as so much more: what stands between it and the next. */
const BETWEEN_LINES_BYTES = 4

const inRange = ({ orgId, appId, since, level }: LineRange) =>
  matchingLines({ orgId, id: appId }, { since: since.toISOString(), level })

/** How many contain a text, ignoring case; counted no further than `most`. `isWhole`: there were not more to look at. */
export async function countLines(
  db: Handle,
  { text, most, ...range }: LineRange & { readonly text: string; readonly most: number },
): Promise<{ count: number; isWhole: boolean }> {
  const [counted] = await db.execute<{ count: number }>(sql`
    select count(*)::int as count from (
      select 1 from (
        select text from ${logLines} where ${inRange(range)} order by at desc, number desc limit ${String(SCANNED_MAX)}::int
      ) newest
      where text ilike ${likePattern(text)} limit ${String(most)}::int
    ) matching`)
  if (counted!.count >= most) return { count: counted!.count, isWhole: true }
  const [beyond] = await db.execute(sql`
    select 1 from ${logLines} where ${inRange(range)} order by at desc, number desc offset ${String(SCANNED_MAX)}::int limit 1`)
  return { count: counted!.count, isWhole: beyond === undefined }
}

/** Newest first, a page at a time. */
export async function* readLinePages(db: Handle, range: LineRange): AsyncGenerator<readonly string[]> {
  let before: { moment: string; place: string } | undefined
  for (;;) {
    const rows: readonly { text: string; moment: string; place: string }[] = await db.execute(sql`
      select text, at::text as moment, number::text as place from ${logLines}
      where ${inRange(range)} ${before ? sql`and (at, number) < (${before.moment}::text::timestamptz, ${before.place}::text::bigint)` : sql``}
      order by at desc, number desc limit ${String(PAGE_LINES)}::int`)
    if (rows.length > 0) yield rows.map(({ text }) => text)
    if (rows.length < PAGE_LINES) return
    before = rows.at(-1)
  }
}

type Evidence = { readonly lines: readonly string[]; readonly isWhole: boolean }

/**
 * What the lines of a time say, as far as it fits: groups of similar lines with how many there are, most frequent first,
 * then the newest lines themselves. `isWhole`: every line is there, or in one of the groups.
 */
export async function readLogEvidence(
  db: Handle,
  { maxBytes, ...where }: Omit<LineRange, 'level'> & { readonly maxBytes: number },
): Promise<Evidence> {
  const range: LineRange = { ...where, level: 'trace' }
  const groups = await readGroups(db, range, maxBytes)
  const newest = await readNewest(db, range, maxBytes - bytesOf(groups.lines))
  return { lines: [...groups.lines, ...newest.lines], isWhole: groups.isWhole || newest.isWhole }
}

/** More of them are no summary. */
const GROUPS_MAX = 1_000

async function readGroups(db: Handle, range: LineRange, maxBytes: number): Promise<Evidence> {
  const rows = await db.execute<{ level: number; template: string | null; count: number }>(sql`
    select ${logLines.level} as level, ${logGroups.template} as template, count(*)::int as count
    from ${logLines} left join ${logGroups} on ${logGroups.orgId} = ${logLines.orgId}
      and ${logGroups.appId} = ${logLines.appId} and ${logGroups.key} = ${logLines.groupKey}
    where ${inRange(range)} group by 1, 2 order by count desc, template limit ${String(GROUPS_MAX + 1)}::int`)
  // Lines of too many groups have none of their own.
  const known = rows.filter(({ template }) => template !== null)
  const lines = known.map(
    ({ level, template, count }) => `${count} × [${LOG_LEVELS[level] ?? ''}] ${template}`,
  )
  const fitting = fit(lines, maxBytes)
  return { lines: fitting, isWhole: fitting.length === rows.length && rows.length <= GROUPS_MAX }
}

async function readNewest(db: Handle, range: LineRange, maxBytes: number): Promise<Evidence> {
  const lines: string[] = []
  let left = maxBytes
  for await (const page of readLinePages(db, range)) {
    const fitting = fit(page, left)
    lines.push(...fitting)
    left -= bytesOf(fitting)
    if (fitting.length < page.length) return { lines, isWhole: false }
  }
  return { lines, isWhole: true }
}

/** The first ones, until one does not fit. */
function fit(lines: readonly string[], maxBytes: number): readonly string[] {
  let left = maxBytes
  const end = lines.findIndex((line) => (left -= bytesOf([line])) < 0)
  return end === -1 ? lines : lines.slice(0, end)
}

/** As they stand in JSON. */
const bytesOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Buffer.byteLength(JSON.stringify(line)) + BETWEEN_LINES_BYTES, 0)
