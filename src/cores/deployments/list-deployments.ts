import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireAppReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { presentDeployment } from './deployment-rows.ts'

export const listDeployments =
  ({ db, directory }: Storage & WithDirectory): Handler<'listDeployments'> =>
  async (principal, { alias, state, limit, cursor, count }) => {
    const before = readCursor(cursor, 1)?.[0]
    const app = await requireAppReader(directory, db, principal, alias)
    const matching = and(
      eq(deployments.orgId, app.orgId),
      eq(deployments.appId, app.id),
      state && eq(deployments.state, state),
    )
    const rows = await db
      .select()
      .from(deployments)
      .where(and(matching, before === undefined ? undefined : lt(deployments.fence, fenceIn(before))))
      .orderBy(desc(deployments.fence))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [String(row.fence)])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(deployments).where(matching),
    )
    return {
      deployments: page.rows.map(presentDeployment),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }

/** A cursor of another list is before everything. */
const fenceIn = (key: string): number => (/^\d{1,9}$/.test(key) ? Number(key) : 0)
