/** The tickets of an app. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listTickets, TICKET_STATUSES } from '../../../contracts/tickets.ts'
import { linkButton } from '../../../pages/parts.ts'
import { emptyState, filterSelect, listCard, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { STATUS_LABELS, statusBadge, ticketPath } from './app-labels.ts'
import { aliasOf, appPage, readApp, tabPath, type App } from './app-tabs.ts'

type Listed = z.output<typeof listTickets.output>

export const appTicketRoutes = () => createRoutes().get('/apps/:alias/tickets', showTickets)

async function showTickets(c: PageContext) {
  const query = c.req.query()
  const alias = aliasOf(c)
  const status = TICKET_STATUSES.find((one) => one === query['status'])
  const [app, listed] = await Promise.all([
    readApp(c),
    sessionOf(c).call(listTickets, { alias, status, cursor: query['cursor'], count: 'true' }),
  ])
  return appPage(c, app, 'tickets', {
    actions: linkButton(`${tabPath(alias, 'tickets')}/new`, 'New ticket'),
    body: ticketList(c, app, listed, status),
  })
}

const ticketList = (
  c: PageContext,
  app: App,
  { tickets, next_cursor, total }: Listed,
  status: string | undefined,
) =>
  listCard(c, {
    label: 'Filter tickets',
    filters: filterSelect({
      name: 'status',
      label: 'Status',
      value: status,
      all: 'All statuses',
      options: TICKET_STATUSES.map((value) => ({ value, label: STATUS_LABELS[value].label })),
    }),
    caption: app.my_role === null ? 'Your tickets, newest first' : 'Tickets, newest first',
    columns: ['Ticket', 'Status', 'Reporter', 'Updated'],
    rows: tickets.map((ticket) => [
      html`<a class="subject" href="${ticketPath(app.alias, ticket.id)}">${ticket.title}</a>`,
      statusBadge(ticket.status),
      html`${ticket.reporter.name}`,
      time(ticket.changed_at),
    ]),
    empty: noTickets(app, status !== undefined),
    next: next_cursor,
    total,
  })

function noTickets({ alias, my_role }: App, isFiltered: boolean) {
  const all = html`<a href="${tabPath(alias, 'tickets')}">Show all</a>`
  if (isFiltered) return emptyState('No tickets with this status', 'Try a different status.', all)
  return my_role === null
    ? emptyState('You have no tickets here', 'Only people who work on the app can see tickets from others.')
    : emptyState('No tickets yet', 'Tickets for this app are listed here.')
}
