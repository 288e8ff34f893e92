/** The tickets of an app. */
import { html } from 'hono/html'
import { listTickets } from '../../../contracts/tickets.ts'
import { linkButton } from '../../../pages/parts.ts'
import { emptyState, listCard, time } from '../../components.ts'
import { createRoutes, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { STATUS_LABELS, statusBadge, ticketPath } from './app-labels.ts'
import { aliasOf, appPage, readApp, tabPath } from './app-tabs.ts'

const TICKETS = listOf(listTickets, {
  status: { label: 'Status', all: 'All statuses', labels: STATUS_LABELS },
})

export const appTicketRoutes = () => createRoutes().get('/apps/:alias/tickets', showTickets)

async function showTickets(c: PageContext) {
  const alias = aliasOf(c)
  const [app, listed] = await Promise.all([readApp(c), TICKETS.call(c, { alias })])
  return appPage(c, app, 'tickets', {
    actions: linkButton(`${tabPath(alias, 'tickets')}/new`, 'New ticket'),
    body: listCard(c, {
      ...TICKETS.parts(c, listed),
      noun: 'tickets',
      caption: app.my_role === null ? 'Your tickets, newest first' : 'Tickets, newest first',
      columns: ['Ticket', 'Status', 'Reporter', 'Updated'],
      rows: listed.tickets.map((ticket) => [
        html`<a class="subject" href="${ticketPath(app.alias, ticket.id)}">${ticket.title}</a>`,
        statusBadge(ticket.status),
        html`${ticket.reporter.name}`,
        time(ticket.changed_at),
      ]),
      empty:
        app.my_role === null
          ? emptyState(
              'You have no tickets here',
              'Only people who work on the app can see tickets from others.',
            )
          : emptyState('No tickets yet', 'Tickets for this app are listed here.'),
    }),
  })
}
