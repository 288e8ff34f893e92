import { and, asc, desc, eq, gt, lte, sql } from '../../../db/drizzle.ts'
import { logLines, logUsage } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import type { Handler, Output } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { groupId, lineId, lineNumber } from './line-ids.ts'
import type { LogReads } from './log-reads.ts'
import { matchingLines } from './matching-lines.ts'
import type { LogApp } from './log-record.ts'

export type ReadDeps = Storage & WithDirectory & { readonly logReads: LogReads }
type Asked = Parameters<Handler<'listLogs'>>[1]
type Row = typeof logLines.$inferSelect

export const listLogs =
  (deps: ReadDeps): Handler<'listLogs'> =>
  async (principal, asked) => {
    const app = await requireSourceReader(deps.directory, deps.db, principal, asked.alias)
    const { searches, waits } = deps.logReads
    if (asked.after === undefined) {
      const list = () => listNewest(deps, app, asked)
      return asked.text === undefined && asked.group_id === undefined ? list() : searches(app.orgId, list)
    }
    const after = lineNumber(asked.after) ?? 0
    if (asked.wait_seconds === 0) return listArrived(deps, app, asked, after)
    return waits(app.orgId, async () => {
      let found = await listArrived(deps, app, asked, after)
      for (let left = asked.wait_seconds; left > 0 && found.lines.length === 0; left -= 1) {
        await deps.logReads.arrivals.wait(app, LOOK_AGAIN_MS)
        // Whoever may not read them any more does not get what arrived meanwhile.
        await requireSourceReader(deps.directory, deps.db, principal, asked.alias)
        found = await listArrived(deps, app, asked, lineNumber(found.after) ?? after)
      }
      return found
    })
  }

const LOOK_AGAIN_MS = 1_000

/** By time. What arrives after the answer is for whoever follows from there. */
async function listNewest({ db }: ReadDeps, app: LogApp, asked: Asked): Promise<Output<'listLogs'>> {
  const { limit, cursor } = asked
  const before = beforeIn(cursor)
  const last = await lastNumber({ db }, app)
  const rows = await db
    .select()
    .from(logLines)
    .where(and(matchingLines(app, asked), lte(logLines.number, last), before))
    .orderBy(desc(logLines.at), desc(logLines.number))
    .limit(limit + 1)
  const page = pageOf(rows, limit, ({ at, number }) => [at.toISOString(), String(number)])
  return { lines: page.rows.map(presentLine), after: lineId(last), next_cursor: page.next_cursor }
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
  { db }: Pick<ReadDeps, 'db'>,
  app: LogApp,
  asked: Asked,
  after: number,
): Promise<Output<'listLogs'>> {
  const last = await lastNumber({ db }, app)
  if (last <= after) return { lines: [], after: lineId(last) }
  const rows = await db
    .select()
    .from(logLines)
    .where(and(matchingLines(app, asked), gt(logLines.number, after), lte(logLines.number, last)))
    .orderBy(asc(logLines.number))
    .limit(asked.limit + 1)
  const shown = rows.slice(0, asked.limit)
  const seen = rows.length > asked.limit ? shown.at(-1)!.number : last
  return { lines: shown.map(presentLine), after: lineId(seen) }
}

async function lastNumber({ db }: Pick<ReadDeps, 'db'>, { orgId, id: appId }: LogApp): Promise<number> {
  const [usage] = await db
    .select({ lastNumber: logUsage.lastNumber })
    .from(logUsage)
    .where(and(eq(logUsage.orgId, orgId), eq(logUsage.appId, appId)))
  return usage?.lastNumber ?? 0
}

const presentLine = (row: Row) => ({
  id: lineId(row.number),
  at: row.at.toISOString(),
  level: LOG_LEVELS[row.level]!,
  text: row.text,
  service: row.service,
  trace_id: row.traceId,
  group_id: groupId(row.groupKey),
})
