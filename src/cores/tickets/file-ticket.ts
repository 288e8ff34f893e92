/** Somebody files a ticket on an app; whoever wanted to hear of it does. */
import { tickets } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { fileTicket } from '../../contracts/tickets.ts'
import { appFor } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { presentTicket } from './find-ticket.ts'
import { tellOf } from './ticket-events.ts'

export const file =
  ({ db, clock }: Storage): Handler<typeof fileTicket> =>
  (who, { alias, title, body }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const { app } = await appFor(tx, caller, alias)
      const now = clock()
      const [ticket] = await tx
        .insert(tickets)
        .values({
          orgId,
          id: makeId('tkt', now.getTime()),
          appId: app.id,
          title,
          body,
          status: 'open',
          reporterId: caller.userId,
          reporterName: caller.userName,
          createdAt: now,
          changedAt: now,
        })
        .returning()
      // Its title is the reporter's and those people's who work on the app; admins who read the trail find it there.
      const subject = `${alias}: ${ticket!.id}`
      await recordAudit(tx, clock, caller, { orgId, action: 'ticket.filed', subject })
      await tellOf(tx, clock, caller, ticket!, { type: 'support.ticket.created', once: 'created' })
      return presentTicket(app, ticket!)
    })
