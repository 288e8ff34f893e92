import { and, eq } from '../../../db/drizzle.ts'
import { tickets } from '../../../db/schema.ts'
import { requireApp } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { presentTicket } from './ticket-rows.ts'

export const listTickets: Verb<'listTickets', WithDirectory> = list(
  { rows: 'tickets', desc: [tickets.id] },
  async ({ db, member, orgId, userId, directory, page }, { alias, status }) => {
    const { app, appRole } = await requireApp(directory, db, member, alias)
    return page({
      from: () => db.select().from(tickets),
      where: and(
        eq(tickets.orgId, orgId),
        eq(tickets.appId, app.id),
        appRole === null ? eq(tickets.reporterId, userId) : undefined,
        status && eq(tickets.status, status),
      ),
      key: (row) => [row.id],
      present: (rows) => rows.map((row) => presentTicket(app, row)),
    })
  },
)
