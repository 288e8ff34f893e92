/** An answer that everybody on the ticket reads, or a note for those who work on the app. */
import { and, eq } from '../../../db/drizzle.ts'
import { ticketReplies, tickets } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { replyToTicket } from '../../contracts/tickets.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { ticketFor } from './find-ticket.ts'
import { tellOf } from './ticket-events.ts'

export const presentReply = (row: typeof ticketReplies.$inferSelect) => ({
  id: row.id,
  internal: row.isInternal,
  body: row.body,
  author: { id: row.authorId, name: row.authorName },
  at: row.at.toISOString(),
})

export const reply =
  ({ db, clock }: Storage): Handler<typeof replyToTicket> =>
  (who, { body, internal, ...asked }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const { ticket, worksOnIt } = await ticketFor(tx, caller, asked)
      if (internal && !worksOnIt)
        throw new ServiceError('FORBIDDEN', 'Only those who work on the app leave notes')
      const at = clock()
      const [row] = await tx
        .insert(ticketReplies)
        .values({
          orgId,
          ticketId: ticket.id,
          id: makeId('rpl', at.getTime()),
          isInternal: internal,
          body,
          authorId: caller.userId,
          authorName: caller.userName,
          at,
        })
        .returning()
      const subject = `${asked.alias}: ${ticket.id}`
      await recordAudit(tx, clock, caller, {
        orgId,
        action: internal ? 'ticket.noted' : 'ticket.replied',
        subject,
      })
      // A note leaves no trace outside: no event, and not even a newer date on the ticket.
      if (internal) return presentReply(row!)
      await tx
        .update(tickets)
        .set({ changedAt: at })
        .where(and(eq(tickets.orgId, orgId), eq(tickets.id, ticket.id)))
      await tellOf(tx, clock, caller, ticket, {
        type: 'support.ticket.replied',
        once: row!.id,
        data: { reply_id: row!.id },
      })
      return presentReply(row!)
    })
