import { tickets } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { requireApp } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { presentTicket, ticketEvent } from './ticket-rows.ts'

export const createTicket: Verb<'createTicket', WithDirectory> = write(
  { audit: 'ticket.filed', events: 'support.ticket.created' },
  async ({ tx, clock, member, orgId, userId, directory, audit, event }, { alias, title, body }) => {
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
        reporterId: userId,
        reporterName: member.userName,
        createdAt: now,
        changedAt: now,
      })
      .returning()
    // Without the title, which only the reporter and the people on the app may read.
    await audit('ticket.filed', `${alias}: ${ticket!.id}`)
    await event(ticketEvent(member, ticket!, { type: 'support.ticket.created', once: 'created' }))
    return presentTicket(app, ticket!)
  },
)
