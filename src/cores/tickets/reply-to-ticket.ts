import { and, eq } from '../../../db/drizzle.ts'
import { ticketReplies, tickets } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { presentReply, ticketEvent, requireTicket } from './ticket-rows.ts'

export const replyToTicket: Verb<'replyToTicket', WithDirectory> = write(
  { audit: ['ticket.noted', 'ticket.replied'], events: 'support.ticket.replied' },
  async ({ tx, clock, member, orgId, userId, directory, audit, event }, { body, internal, ...path }) => {
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
        authorId: userId,
        authorName: member.userName,
        at,
      })
      .returning()
    await audit(internal ? 'ticket.noted' : 'ticket.replied', `${path.alias}: ${ticket.id}`)
    // A note is internal: no event, and no newer date on the ticket.
    if (internal) return presentReply(row!)
    await tx
      .update(tickets)
      .set({ changedAt: at })
      .where(and(eq(tickets.orgId, orgId), eq(tickets.id, ticket.id)))
    await event(
      ticketEvent(member, ticket, {
        type: 'support.ticket.replied',
        once: row!.id,
        data: { reply_id: row!.id },
      }),
    )
    return presentReply(row!)
  },
)
