/** Tickets as the operations find and return them, and the events about them. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { tickets, type ticketReplies } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { EventType } from '../../contracts/events.ts'
import { requireApp, type App } from '../apps/index.ts'
import type { Directory } from '../directory/index.ts'
import type { MemberPrincipal } from '../principal.ts'

export type Ticket = typeof tickets.$inferSelect

/** With a role on the app every ticket, otherwise their own; anybody else's does not exist for them. */
export async function requireTicket(
  directory: Directory,
  db: Handle,
  principal: MemberPrincipal,
  path: { alias: string; ticket_id: string },
): Promise<{ app: App; ticket: Ticket; hasAppRole: boolean }> {
  const { app, appRole } = await requireApp(directory, db, principal, path.alias)
  const hasAppRole = appRole !== null
  const [ticket] = await db
    .select()
    .from(tickets)
    .where(
      and(
        eq(tickets.orgId, principal.orgId),
        eq(tickets.id, path.ticket_id),
        eq(tickets.appId, app.id),
        hasAppRole ? undefined : eq(tickets.reporterId, principal.userId),
      ),
    )
  if (!ticket) throw notFound()
  return { app, ticket, hasAppRole }
}

export const presentTicket = (app: App, ticket: Ticket) => ({
  id: ticket.id,
  app: app.alias,
  title: ticket.title,
  status: ticket.status,
  reporter: { id: ticket.reporterId, name: ticket.reporterName },
  created_at: ticket.createdAt.toISOString(),
  changed_at: ticket.changedAt.toISOString(),
})

/** A reply that everybody on the ticket reads, or an internal note. */
export const presentReply = (row: typeof ticketReplies.$inferSelect) => ({
  id: row.id,
  internal: row.isInternal,
  body: row.body,
  author: { id: row.authorId, name: row.authorName },
  at: row.at.toISOString(),
})

type TicketEvent<Type> = {
  type: Type
  /** Which change of this ticket it is: the same one is recorded once. */
  once: string
  data?: Record<string, string>
}

export const ticketEvent = <Type extends EventType>(
  principal: MemberPrincipal,
  ticket: Ticket,
  { type, once, data }: TicketEvent<Type>,
) => ({
  orgId: ticket.orgId,
  type,
  subject: `tickets/${ticket.id}`,
  source: 'tickets',
  dedupKey: `${ticket.id}:${once}`,
  actorId: principal.userId,
  concernsId: ticket.reporterId,
  appId: ticket.appId,
  data: { ticket_id: ticket.id, ...data },
})
