import { tickets } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireApp } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { presentTicket, recordTicketEvent } from './ticket-rows.ts'

export const createTicket =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'createTicket'> =>
  (principal, { alias, title, body }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { app } = await requireApp(directory, tx, member, alias)
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
          reporterId: member.userId,
          reporterName: member.userName,
          createdAt: now,
          changedAt: now,
        })
        .returning()
      // Without the title, which only the reporter and the people on the app may read.
      const subject = `${alias}: ${ticket!.id}`
      await recordAudit(tx, clock, member, { orgId, action: 'ticket.filed', subject })
      await recordTicketEvent(tx, clock, member, ticket!, { type: 'support.ticket.created', once: 'created' })
      return presentTicket(app, ticket!)
    })
