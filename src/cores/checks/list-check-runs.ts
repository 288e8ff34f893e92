import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { checkRuns } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireMember } from '../principal.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const listCheckRuns =
  ({ db, directory }: ChecksDeps): Handler<'listCheckRuns'> =>
  async (principal, { result, limit, cursor, count, ...path }) => {
    const before = readCursor(cursor, 1)?.[0]
    const { check } = await requireCheck(directory, db, requireMember(principal), path)
    const matching = and(
      eq(checkRuns.orgId, check.orgId),
      eq(checkRuns.checkId, check.id),
      result && eq(checkRuns.result, result),
    )
    const rows = await db
      .select()
      .from(checkRuns)
      .where(and(matching, before === undefined ? undefined : lt(checkRuns.id, before)))
      .orderBy(desc(checkRuns.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(checkRuns).where(matching),
    )
    return {
      runs: page.rows.map(({ id, at, result, ms, status, reason, detail }) => ({
        id,
        at: at.toISOString(),
        result,
        ms,
        status,
        reason,
        detail,
      })),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
