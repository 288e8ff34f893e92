/** Moves a ticket between open, in progress and done; whoever finds it there already changes nothing. */
import { and, eq } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { moveTicket } from '../../contracts/tickets.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { presentTicket, ticketFor } from './find-ticket.ts'
import { tellOf } from './ticket-events.ts'

/** More people than this do not press a button of one ticket within one moment. */
const TRIES = 5

export const move =
  ({ db, clock }: Storage): Handler<typeof moveTicket> =>
  (who, { status, ...asked }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      for (let tried = 0; tried < TRIES; tried++) {
        const { app, ticket, worksOnIt } = await ticketFor(tx, caller, asked)
        if (!worksOnIt && status === 'in_progress')
          throw new ServiceError('FORBIDDEN', 'Only those who work on the app take a ticket in progress')
        if (ticket.status === status) return presentTicket(app, ticket)
        const changedAt = clock()
        const [moved] = await tx
          .update(tickets)
          .set({ status, changedAt })
          .where(and(eq(tickets.orgId, orgId), eq(tickets.id, ticket.id), eq(tickets.status, ticket.status)))
          .returning()
        // Somebody was faster: what they made of it is read anew, and perhaps it is what was wanted.
        if (!moved) continue
        const subject = `${asked.alias}: ${ticket.id}, ${ticket.status} → ${status}`
        await recordAudit(tx, clock, caller, { orgId, action: 'ticket.moved', subject })
        await tellOf(tx, clock, caller, moved, {
          type: 'support.ticket.status_changed',
          // A ticket comes back to a state, and that is another event.
          once: makeId('evt', changedAt.getTime()),
          data: { from: ticket.status, to: status },
        })
        return presentTicket(app, moved)
      }
      throw new ServiceError('UNEXPECTED', undefined, { cause: 'a ticket moved under every try to move it' })
    })
