/** Lists the tickets of an app and shows one with what was said on it. */
import { and, asc, desc, eq, lt } from '../../../db/drizzle.ts'
import { ticketReplies, tickets } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { listTickets, showTicket } from '../../contracts/tickets.ts'
import { appFor } from '../apps/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { presentTicket, ticketFor } from './find-ticket.ts'
import { presentReply } from './reply.ts'

export const ticketsOf =
  ({ db }: Storage): Handler<typeof listTickets> =>
  async (who, { alias, status, limit, cursor }) => {
    const caller = asMember(who)
    const before = readCursor(cursor, 1)?.[0]
    const { app, part } = await appFor(db, caller, alias)
    const rows = await db
      .select()
      .from(tickets)
      .where(
        and(
          eq(tickets.orgId, caller.orgId),
          eq(tickets.appId, app.id),
          part === null ? eq(tickets.reporterId, caller.userId) : undefined,
          status && eq(tickets.status, status),
          before === undefined ? undefined : lt(tickets.id, before),
        ),
      )
      .orderBy(desc(tickets.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return { tickets: page.rows.map((row) => presentTicket(app, row)), next_cursor: page.next_cursor }
  }

export const oneTicket =
  ({ db }: Storage): Handler<typeof showTicket> =>
  async (who, asked) => {
    const { app, ticket, worksOnIt } = await ticketFor(db, asMember(who), asked)
    const replies = await db
      .select()
      .from(ticketReplies)
      .where(
        and(
          eq(ticketReplies.orgId, ticket.orgId),
          eq(ticketReplies.ticketId, ticket.id),
          worksOnIt ? undefined : eq(ticketReplies.isInternal, false),
        ),
      )
      .orderBy(asc(ticketReplies.id))
    return { ...presentTicket(app, ticket), body: ticket.body, replies: replies.map(presentReply) }
  }
