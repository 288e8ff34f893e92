import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireApp } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { presentTicket } from './ticket-rows.ts'

export const listTickets =
  ({ db, directory }: Storage & WithDirectory): Handler<'listTickets'> =>
  async (principal, { alias, status, limit, cursor, count }) => {
    const member = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const { app, appRole } = await requireApp(directory, db, member, alias)
    const matching = and(
      eq(tickets.orgId, member.orgId),
      eq(tickets.appId, app.id),
      appRole === null ? eq(tickets.reporterId, member.userId) : undefined,
      status && eq(tickets.status, status),
    )
    const rows = await db
      .select()
      .from(tickets)
      .where(and(matching, before === undefined ? undefined : lt(tickets.id, before)))
      .orderBy(desc(tickets.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(tickets).where(matching),
    )
    return {
      tickets: page.rows.map((row) => presentTicket(app, row)),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
