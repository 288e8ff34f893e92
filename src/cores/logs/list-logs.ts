import type { Handle } from '../../../db/connect.ts'
import { and, asc, desc, eq, gt, lte, sql } from '../../../db/drizzle.ts'
import { logLines, logUsage } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import type { Handler, Output } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { createWaits } from '../work/index.ts'
import { groupId, lineId, lineNumber } from './line-ids.ts'
import type { LogReads } from './log-reads.ts'
import { matchingLines, type LineFilter } from './matching-lines.ts'
import type { LogApp } from './log-record.ts'
import { isSearch, searchLines, type Reader } from './search-lines.ts'

export type ReadDeps = Storage & WithDirectory & { readonly logReads: LogReads }
type Reading = ReadDeps & Reader
type Asked = Parameters<Handler<'listLogs'>>[1]
type Row = typeof logLines.$inferSelect

export const listLogs =
  (deps: ReadDeps): Handler<'listLogs'> =>
  async (principal, asked) => {
    const before = beforeIn(asked.cursor)
    const app = await requireSourceReader(deps.directory, deps.db, principal, asked.alias)
    const reading = { ...deps, signal: principal.signal, userId: principal.userId }
    if (asked.after === undefined)
      return listNewest({ ...reading, db: deps.old ?? deps.db }, app, asked, before)
    const after = lineNumber(asked.after) ?? 0
    if (asked.wait_seconds === 0) return listArrived(reading, app, asked, after)
    let found: Output<'listLogs'> | undefined
    const wait = { seconds: asked.wait_seconds, signal: principal.signal }
    await waitForLines(deps.db, { orgId: app.orgId, key: app.id }, wait, async () => {
      // Whoever may not read them any more does not get what arrived meanwhile.
      if (found) await requireSourceReader(deps.directory, deps.db, principal, asked.alias)
      found = await listArrived(reading, app, asked, (found && lineNumber(found.after)) ?? after)
      return found.lines.length > 0
    })
    return found ?? { lines: [], after: lineId(after) }
  }

const waitForLines = createWaits(FAIR_QUEUES.logWaits, 'logs')

/** Lines that the database looks through in some milliseconds, whatever their length; for a text it must read all of them. */
const FOLLOWED_MAX = { forText: 500, otherwise: 10_000 }

/** By time. What arrives after the answer is for whoever follows from there. */
async function listNewest(
  reading: Reading,
  app: LogApp,
  asked: Asked,
  before: ReturnType<typeof beforeIn>,
): Promise<Output<'listLogs'>> {
  const { limit } = asked
  const last = await lastNumber(reading, app)
  const rows = await readLines(reading, app, isSearch(asked), (db) =>
    db
      .select()
      .from(logLines)
      .where(and(matchingLines(app, asked), lte(logLines.number, last), before))
      .orderBy(desc(logLines.at), desc(logLines.number))
      .limit(limit + 1),
  )
  const page = pageOf(rows, limit, ({ at, number }) => [at.toISOString(), String(number)])
  return { lines: page.rows.map(presentLine), after: lineId(last), next_cursor: page.next_cursor }
}

/** The newest of an app, without a page of their own. */
export const findNewestLines = async (
  deps: Pick<Reading, 'db' | 'logReads' | keyof Reader>,
  app: LogApp,
  filter: LineFilter,
  limit: number,
): Promise<ReturnType<typeof presentLine>[]> => {
  const rows = await readLines(deps, app, isSearch(filter), (db) =>
    db
      .select()
      .from(logLines)
      .where(matchingLines(app, filter))
      .orderBy(desc(logLines.at), desc(logLines.number))
      .limit(limit),
  )
  return rows.map(presentLine)
}

function beforeIn(cursor: string | undefined) {
  const key = readCursor(cursor, 2)
  if (key === undefined) return undefined
  const [at, number] = [new Date(key[0]!), Number(key[1])]
  if (Number.isNaN(at.getTime()) || !Number.isSafeInteger(number)) {
    throw new ServiceError('INVALID_REQUEST', 'The cursor is not valid')
  }
  return sql`(${logLines.at}, ${logLines.number}) < (${at.toISOString()}::timestamptz, ${String(number)}::bigint)`
}

/** By arrival, which is the order of their numbers: none is missed, however late its sender was. */
async function listArrived(
  reading: Reading,
  app: LogApp,
  asked: Asked,
  after: number,
): Promise<Output<'listLogs'>> {
  const last = await lastNumber(reading, app)
  if (last <= after) return { lines: [], after: lineId(last) }
  // What came since somebody looked last is little; who begins at the start of the log may read all of it for one line.
  const most = asked.text ? FOLLOWED_MAX.forText : FOLLOWED_MAX.otherwise
  const rows = await readLines(reading, app, last - after > most, (db) =>
    db
      .select()
      .from(logLines)
      .where(and(matchingLines(app, asked), gt(logLines.number, after), lte(logLines.number, last)))
      .orderBy(asc(logLines.number))
      .limit(asked.limit + 1),
  )
  const shown = rows.slice(0, asked.limit)
  const seen = rows.length > asked.limit ? shown.at(-1)!.number : last
  return { lines: shown.map(presentLine), after: lineId(seen) }
}

const readLines = async (
  reading: Pick<Reading, 'db' | 'logReads' | keyof Reader>,
  app: LogApp,
  inTurn: boolean,
  read: (db: Handle) => PromiseLike<Row[]>,
): Promise<Row[]> => (inTurn ? searchLines(reading, app, async (tx) => read(tx)) : read(reading.db))

async function lastNumber({ db }: Pick<ReadDeps, 'db'>, { orgId, id: appId }: LogApp): Promise<number> {
  const [usage] = await db
    .select({ lastNumber: logUsage.lastNumber })
    .from(logUsage)
    .where(and(eq(logUsage.orgId, orgId), eq(logUsage.appId, appId)))
  return usage?.lastNumber ?? 0
}

export const presentLine = (row: Row) => ({
  id: lineId(row.number),
  at: row.at.toISOString(),
  level: LOG_LEVELS[row.level]!,
  text: row.text,
  service: row.service,
  trace_id: row.traceId,
  group_id: groupId(row.groupKey),
})
