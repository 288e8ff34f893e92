import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireApp } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { presentTicket } from './ticket-rows.ts'

export const listTickets =
  ({ db, directory }: Storage & WithDirectory): Handler<'listTickets'> =>
  async (principal, { alias, status, limit, cursor }) => {
    const member = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const { app, appRole } = await requireApp(directory, db, member, alias)
    const rows = await db
      .select()
      .from(tickets)
      .where(
        and(
          eq(tickets.orgId, member.orgId),
          eq(tickets.appId, app.id),
          appRole === null ? eq(tickets.reporterId, member.userId) : undefined,
          status && eq(tickets.status, status),
          before === undefined ? undefined : lt(tickets.id, before),
        ),
      )
      .orderBy(desc(tickets.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return { tickets: page.rows.map((row) => presentTicket(app, row)), next_cursor: page.next_cursor }
  }
