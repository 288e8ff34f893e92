import { and, asc, eq } from '../../../db/drizzle.ts'
import { ticketReplies } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { presentReply, presentTicket, requireTicket } from './ticket-rows.ts'

export const showTicket: Verb<'showTicket', WithDirectory> = read(async ({ db, member, directory }, path) => {
  const { app, ticket, hasAppRole } = await requireTicket(directory, db, member, path)
  const replies = await db
    .select()
    .from(ticketReplies)
    .where(
      and(
        eq(ticketReplies.orgId, ticket.orgId),
        eq(ticketReplies.ticketId, ticket.id),
        hasAppRole ? undefined : eq(ticketReplies.isInternal, false),
      ),
    )
    .orderBy(asc(ticketReplies.id))
  return { ...presentTicket(app, ticket), body: ticket.body, replies: replies.map(presentReply) }
})
