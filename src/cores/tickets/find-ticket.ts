/** A ticket as its reader may see it: those who work on the app see all of them, everybody else their own. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { appFor, type App } from '../apps/index.ts'
import type { MemberCaller } from '../caller.ts'

export type Ticket = typeof tickets.$inferSelect

/** A ticket of others is as unknown as one that does not exist. */
export async function ticketFor(
  db: Handle,
  caller: MemberCaller,
  asked: { alias: string; ticket_id: string },
): Promise<{ app: App; ticket: Ticket; worksOnIt: boolean }> {
  const { app, part } = await appFor(db, caller, asked.alias)
  const worksOnIt = part !== null
  const [ticket] = await db
    .select()
    .from(tickets)
    .where(
      and(
        eq(tickets.orgId, caller.orgId),
        eq(tickets.id, asked.ticket_id),
        eq(tickets.appId, app.id),
        worksOnIt ? undefined : eq(tickets.reporterId, caller.userId),
      ),
    )
  if (!ticket) throw notFound()
  return { app, ticket, worksOnIt }
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
