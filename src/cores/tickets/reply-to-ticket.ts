import { and, eq } from '../../../db/drizzle.ts'
import { ticketReplies, tickets } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { presentReply, recordTicketEvent, requireTicket } from './ticket-rows.ts'

export const replyToTicket =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'replyToTicket'> =>
  (principal, { body, internal, ...path }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { ticket, hasAppRole } = await requireTicket(directory, tx, member, path)
      if (internal && !hasAppRole)
        throw new ServiceError('FORBIDDEN', 'Only builders and maintainers of the app may add notes')
      const at = clock()
      const [row] = await tx
        .insert(ticketReplies)
        .values({
          orgId,
          ticketId: ticket.id,
          id: makeId('rpl', at.getTime()),
          isInternal: internal,
          body,
          authorId: member.userId,
          authorName: member.userName,
          at,
        })
        .returning()
      const subject = `${path.alias}: ${ticket.id}`
      await recordAudit(tx, clock, member, {
        orgId,
        action: internal ? 'ticket.noted' : 'ticket.replied',
        subject,
      })
      // A note is internal: no event, and no newer date on the ticket.
      if (internal) return presentReply(row!)
      await tx
        .update(tickets)
        .set({ changedAt: at })
        .where(and(eq(tickets.orgId, orgId), eq(tickets.id, ticket.id)))
      await recordTicketEvent(tx, clock, member, ticket, {
        type: 'support.ticket.replied',
        once: row!.id,
        data: { reply_id: row!.id },
      })
      return presentReply(row!)
    })
