/** Creating a ticket, and one ticket with its replies. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { showApp } from '../../../contracts/apps.ts'
import type { ServiceError } from '../../../contracts/errors.ts'
import {
  createTicket,
  changeTicketStatus,
  replyToTicket,
  showTicket,
  TICKET_STATUSES,
  type TicketStatus,
} from '../../../contracts/tickets.ts'
import { areaField, card, choice, inputField } from '../../../pages/parts.ts'
import { attempt, form, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage, actAndReturn } from '../../flash.ts'
import { page } from '../../layout.ts'
import { badge, initials, time } from '../../components.ts'
import { createRoutes, idOf, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { STATUS_LABELS, statusBadge, ticketPath } from './app-labels.ts'
import { aliasOf, tabParents, tabPath } from './app-tabs.ts'

type Ticket = z.output<typeof showTicket.output>
/** As the contract has it for title and text. */
const [TITLE_MAX, TEXT_MAX] = [200, 20_000]

export const ticketRoutes = () =>
  createRoutes()
    .get('/apps/:alias/tickets/new', (c) => showNew(c))
    .post('/apps/:alias/tickets/new', file)
    .get('/apps/:alias/tickets/:id', (c) => showOne(c))
    .post('/apps/:alias/tickets/:id', reply)
    .post('/apps/:alias/tickets/:id/status', move)

const ticketOf = (c: PageContext) => ({ alias: aliasOf(c), ticket_id: idOf(c) })
const pathOf = (c: PageContext): string => ticketPath(aliasOf(c), idOf(c))

async function showNew(c: PageContext, submitted?: { title: string; body: string; problem: ServiceError }) {
  organizationOf(c)
  const app = await sessionOf(c).call(showApp, { alias: aliasOf(c) })
  return page(c, {
    title: 'New ticket',
    parents: tabParents(app, 'tickets'),
    lead: html`The people who work on it can read it, and you are notified of every reply.`,
    status: statusOf(submitted?.problem),
    body: formCard(c, {
      action: `${tabPath(app.alias, 'tickets')}/new`,
      problem: submitted?.problem,
      shown: ['title', 'body'],
      fields: html`${inputField({ name: 'title', label: 'Title', value: submitted?.title ?? '', required: true, maxlength: TITLE_MAX, className: 'field-wide', problem: submitted?.problem })}
        ${areaField({ name: 'body', label: 'Description', value: submitted?.body ?? '', rows: 8, required: true, maxlength: TEXT_MAX, hint: 'What you did, what you expected, and what happened instead.', problem: submitted?.problem })}`,
      submit: 'Create ticket',
      cancel: tabPath(app.alias, 'tickets'),
    }),
  })
}

async function file(c: PageContext) {
  const submitted = { title: text(c.get('form'), 'title'), body: textOf(c) }
  const result = await attempt(() => sessionOf(c).call(createTicket, { alias: aliasOf(c), ...submitted }))
  if ('problem' in result) return showNew(c, { ...submitted, problem: result.problem })
  return redirectWithMessage(c, ticketPath(aliasOf(c), result.done.id), 'Ticket created.')
}

/** Forms send line breaks as CRLF. */
const textOf = (c: PageContext): string => text(c.get('form'), 'body').replaceAll('\r\n', '\n')

async function showOne(
  c: PageContext,
  submitted?: { body: string; internal: boolean; problem: ServiceError },
) {
  organizationOf(c)
  const { call } = sessionOf(c)
  const [ticket, app] = await Promise.all([
    call(showTicket, ticketOf(c)),
    call(showApp, { alias: aliasOf(c) }),
  ])
  const worksOnIt = app.my_role !== null
  return page(c, {
    title: ticket.title,
    parents: tabParents(app, 'tickets'),
    lead: statusBadge(ticket.status),
    status: statusOf(submitted?.problem),
    body: html`
      <ol class="thread">
        ${message(ticket.reporter.name, ticket.created_at, ticket.body)}
        ${ticket.replies.map(({ author, at, body, internal }) => message(author.name, at, body, internal))}
      </ol>
      ${replyCard(c, worksOnIt, submitted)}
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
    <div class="message-body">${body}</div>
  </li>`

const replyCard = (
  c: PageContext,
  worksOnIt: boolean,
  submitted: { body: string; internal: boolean; problem: ServiceError } | undefined,
) =>
  formCard(c, {
    title: 'Reply',
    action: pathOf(c),
    problem: submitted?.problem,
    shown: ['body'],
    fields: html`${areaField({ name: 'body', label: 'Message', value: submitted?.body ?? '', rows: 5, required: true, maxlength: TEXT_MAX, problem: submitted?.problem })}
      ${
        worksOnIt &&
        html`<fieldset>
          <legend>Visible to</legend>
          ${choice('radio', 'internal', 'no', !submitted?.internal, 'The reporter and people on the app', 'They are notified.')}
          ${choice('radio', 'internal', 'yes', submitted?.internal ?? false, 'Only people on the app', 'An internal note. Nobody is notified.')}
        </fieldset>`
      }`,
    submit: 'Send',
  })

async function reply(c: PageContext) {
  const submitted = { body: textOf(c), internal: text(c.get('form'), 'internal') === 'yes' }
  const result = await attempt(() => sessionOf(c).call(replyToTicket, { ...ticketOf(c), ...submitted }))
  if ('problem' in result) return showOne(c, { ...submitted, problem: result.problem })
  return redirectWithMessage(c, pathOf(c), submitted.internal ? 'Note added.' : 'Reply sent.')
}

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

function move(c: PageContext) {
  const status = TICKET_STATUSES.find((one) => one === text(c.get('form'), 'status')) ?? 'open'
  return actAndReturn(c, pathOf(c), `Status changed to ${STATUS_LABELS[status].label.toLowerCase()}.`, () =>
    sessionOf(c).call(changeTicketStatus, { ...ticketOf(c), status }),
  )
}
