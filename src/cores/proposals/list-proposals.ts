import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { proposals } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { viewProposals } from './proposal-access.ts'
import { LISTED, presentProposal } from './proposal-rows.ts'

export const listProposals =
  (deps: Storage & WithDirectory): Handler<'listProposals'> =>
  async (principal, { alias, state, limit, cursor, count }) => {
    const { db } = deps
    const before = readCursor(cursor, 1)?.[0]
    const { app, ...viewing } = await viewProposals(deps, principal, alias)
    const matching = and(
      eq(proposals.orgId, app.orgId),
      eq(proposals.appId, app.id),
      state && eq(proposals.state, state),
    )
    const rows = await db
      .select(LISTED)
      .from(proposals)
      .where(and(matching, before === undefined ? undefined : lt(proposals.id, before)))
      .orderBy(desc(proposals.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(proposals).where(matching),
    )
    return {
      proposals: page.rows.map((row) => presentProposal(row, viewing)),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
