/** What happens to a ticket becomes an event of the same transaction. */
import type { Transaction } from '../../../db/connect.ts'
import type { MemberCaller } from '../caller.ts'
import type { Clock } from '../needs.ts'
import { recordEvent } from '../notifications/index.ts'
import type { Ticket } from './find-ticket.ts'

type Happening = {
  type: 'support.ticket.created' | 'support.ticket.replied' | 'support.ticket.status_changed'
  /** What of this ticket it is, so that the same thing is told once. */
  once: string
  data?: Record<string, string>
}

export async function tellOf(
  tx: Transaction,
  clock: Clock,
  caller: MemberCaller,
  ticket: Ticket,
  { type, once, data }: Happening,
): Promise<void> {
  await recordEvent(tx, clock, {
    orgId: ticket.orgId,
    type,
    subject: `tickets/${ticket.id}`,
    source: 'tickets',
    dedupKey: `${ticket.id}:${once}`,
    actorId: caller.userId,
    concernsId: ticket.reporterId,
    appId: ticket.appId,
    data: { ticket_id: ticket.id, ...data },
  })
}
