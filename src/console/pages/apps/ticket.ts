/** Creating a ticket, and one ticket with its replies. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { showApp } from '../../../contracts/apps.ts'
import {
  createTicket,
  changeTicketStatus,
  replyToTicket,
  showTicket,
  TICKET_STATUSES,
  type TicketStatus,
} from '../../../contracts/tickets.ts'
import { card, choice } from '../../../pages/parts.ts'
import { act, routeInput, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { form, statusOf, text, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'
import { markdown } from '../../markdown.ts'
import { badge, initials, time } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { STATUS_LABELS, statusBadge, ticketPath } from './app-labels.ts'
import { aliasOf, tabParents, tabPath } from './app-tabs.ts'

type Ticket = z.output<typeof showTicket.output>
const NEW_TICKET = formOf(createTicket, ['title', 'body'], { title: { className: 'field-wide' } })
const REPLY = formOf(replyToTicket, ['body', 'internal'])

export const ticketRoutes = () =>
  createRoutes()
    .get('/apps/:alias/tickets/new', (c) => showNew(c))
    .post('/apps/:alias/tickets/new', file)
    .get('/apps/:alias/tickets/:ticket_id', (c) => showOne(c))
    .post('/apps/:alias/tickets/:ticket_id', reply)
    .post('/apps/:alias/tickets/:ticket_id/status', move)

const pathOf = (c: PageContext): string => ticketPath(aliasOf(c), routeInput(c, showTicket).ticket_id)

async function showNew(c: PageContext, refused?: Refused) {
  organizationOf(c)
  const app = await sessionOf(c).call(showApp, { alias: aliasOf(c) })
  return page(c, {
    title: 'New ticket',
    parents: tabParents(app, 'tickets'),
    lead: html`The people who work on it can read it, and you are notified of every reply.`,
    status: statusOf(refused?.problem),
    body: formCard(c, {
      action: `${tabPath(app.alias, 'tickets')}/new`,
      of: NEW_TICKET.show({ refused }),
      submit: 'Create ticket',
      cancel: tabPath(app.alias, 'tickets'),
    }),
  })
}

const file = submit(NEW_TICKET, {
  again: showNew,
  done: ({ id }, c) => [ticketPath(aliasOf(c), id), 'Ticket created.'],
})

async function showOne(c: PageContext, refused?: Refused) {
  organizationOf(c)
  const { call } = sessionOf(c)
  const [ticket, app] = await Promise.all([
    call(showTicket, routeInput(c, showTicket)),
    call(showApp, { alias: aliasOf(c) }),
  ])
  const worksOnIt = app.my_role !== null
  return page(c, {
    title: ticket.title,
    parents: tabParents(app, 'tickets'),
    lead: statusBadge(ticket.status),
    status: statusOf(refused?.problem),
    body: html`
      <ol class="thread">
        ${message(ticket.reporter.name, ticket.created_at, ticket.body)}
        ${ticket.replies.map(({ author, at, body, internal }) => message(author.name, at, body, internal))}
      </ol>
      ${replyCard(c, worksOnIt, refused)}
      ${moveCard(c, ticket, worksOnIt)}
    `,
  })
}

const message = (name: string, at: string, body: string, internal = false) =>
  html`<li class="message ${internal && 'message-note'}">
    <div class="message-head">
      <span class="avatar" aria-hidden="true">${initials(name)}</span>
      <strong>${name}</strong> <span class="note">${time(at)}</span> ${internal && badge('Note', 'off')}
    </div>
    <div class="message-body">${markdown(body)}</div>
  </li>`

function replyCard(c: PageContext, worksOnIt: boolean, refused: Refused | undefined) {
  const reply = REPLY.show({ refused })
  return formCard(c, {
    of: reply,
    title: 'Reply',
    action: pathOf(c),
    fields: html`${reply.field('body')}
      ${
        worksOnIt &&
        html`<fieldset>
          <legend>Visible to</legend>
          ${choice('radio', 'internal', 'no', !reply.isOn('internal'), 'The reporter and people on the app', 'They are notified.')}
          ${choice('radio', 'internal', 'yes', reply.isOn('internal'), 'Only people on the app', 'An internal note. Nobody is notified.')}
        </fieldset>`
      }`,
    submit: 'Send',
  })
}

const reply = submit(REPLY, {
  again: showOne,
  done: (_, c) => [pathOf(c), REPLY.read(c.get('form')).internal ? 'Note added.' : 'Reply sent.'],
})

const moveLabel = (from: TicketStatus, to: TicketStatus): string => {
  if (to === 'open') return from === 'done' ? 'Reopen' : 'Move to open'
  return to === 'done' ? 'Mark as done' : 'Start progress'
}

/** Only people on the app may start progress. */
const moveCard = (c: PageContext, { status }: Ticket, worksOnIt: boolean) =>
  card(
    'Status',
    html`<p>${statusBadge(status)}</p>
    ${form(
      c,
      `${pathOf(c)}/status`,
      html`<div class="actions">
        ${TICKET_STATUSES.filter((to) => to !== status && (worksOnIt || to !== 'in_progress')).map(
          (to) =>
            html`<button type="submit" name="status" value="${to}" class="button button-quiet">${moveLabel(status, to)}</button>`,
        )}
      </div>`,
      '',
    )}`,
  )

const move = act(changeTicketStatus, {
  input: (sent) => ({ status: TICKET_STATUSES.find((one) => one === text(sent, 'status')) ?? 'open' }),
  back: pathOf,
  done: (_, { status }) => `Status changed to ${STATUS_LABELS[status].label.toLowerCase()}.`,
})
