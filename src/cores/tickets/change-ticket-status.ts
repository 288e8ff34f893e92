/** Moves a ticket between open, in progress and done. */
import { and, eq } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { presentTicket, recordTicketEvent, requireTicket } from './ticket-rows.ts'

/** More people than this do not move the same ticket at the same moment. */
const ATTEMPTS_MAX = 5

export const changeTicketStatus =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'changeTicketStatus'> =>
  (principal, { status, ...path }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
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
        const subject = `${path.alias}: ${ticket.id}, ${ticket.status} → ${status}`
        await recordAudit(tx, clock, member, { orgId, action: 'ticket.moved', subject })
        await recordTicketEvent(tx, clock, member, moved, {
          type: 'support.ticket.status_changed',
          // A ticket can return to a status, and that is another event.
          once: makeId('evt', changedAt.getTime()),
          data: { from: ticket.status, to: status },
        })
        return presentTicket(app, moved)
      }
      throw new ServiceError('UNEXPECTED', undefined, {
        cause: 'the ticket changed during every attempt to move it',
      })
    })
