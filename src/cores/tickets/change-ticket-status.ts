/** Moves a ticket between open, in progress and done. */
import { and, eq } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { presentTicket, ticketEvent, requireTicket } from './ticket-rows.ts'

/** More people than this do not move the same ticket at the same moment. */
const ATTEMPTS_MAX = 5

export const changeTicketStatus: Verb<'changeTicketStatus', WithDirectory> = write(
  { audit: 'ticket.moved', events: 'support.ticket.status_changed' },
  async ({ tx, clock, member, orgId, directory, audit, event }, { status, ...path }) => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { app, ticket, hasAppRole } = await requireTicket(directory, tx, member, path)
      if (!hasAppRole && status === 'in_progress')
        throw new ServiceError(
          'FORBIDDEN',
          'Only builders and maintainers of the app may set a ticket in progress',
        )
      if (ticket.status === status) return presentTicket(app, ticket)
      const changedAt = clock()
      const [moved] = await tx
        .update(tickets)
        .set({ status, changedAt })
        .where(and(eq(tickets.orgId, orgId), eq(tickets.id, ticket.id), eq(tickets.status, ticket.status)))
        .returning()
      // Somebody else moved it first: read it again, it may have the wanted status now.
      if (!moved) continue
      await audit('ticket.moved', `${path.alias}: ${ticket.id}, ${ticket.status} → ${status}`)
      await event(
        ticketEvent(member, moved, {
          type: 'support.ticket.status_changed',
          // A ticket can return to a status, and that is another event.
          once: makeId('evt', changedAt.getTime()),
          data: { from: ticket.status, to: status },
        }),
      )
      return presentTicket(app, moved)
    }
    throw new ServiceError('UNEXPECTED', undefined, {
      cause: 'the ticket changed during every attempt to move it',
    })
  },
)
