/** Filing a ticket, and one ticket with what was said on it. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { showApp } from '../../contracts/apps.ts'
import type { ServiceError } from '../../contracts/errors.ts'
import {
  fileTicket,
  moveTicket,
  replyToTicket,
  showTicket,
  TICKET_STATUSES,
  type TicketStatus,
} from '../../contracts/tickets.ts'
import { areaField, button, card, choice, inputField, linkButton, problemNotice } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { badge, form, initials, time } from '../parts.ts'
import { organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { appPath, STATUS_WORDS, statusBadge, ticketPath } from './app-words.ts'

type C = Context<ConsoleEnv>
type Ticket = z.output<typeof showTicket.output>
/** As the contract has it for title and text. */
const [TITLE_MAX, TEXT_MAX] = [200, 20_000]

export const ticketPages = () =>
  new Hono<ConsoleEnv>()
    .get('/apps/:alias/tickets', (c) => c.redirect(appPath(aliasOf(c))))
    .get('/apps/:alias/tickets/new', (c) => showNew(c))
    .post('/apps/:alias/tickets/new', file)
    .get('/apps/:alias/tickets/:id', (c) => showOne(c))
    .post('/apps/:alias/tickets/:id', reply)
    .post('/apps/:alias/tickets/:id/status', move)

const aliasOf = (c: C): string => c.req.param('alias') ?? ''
const askedOf = (c: C) => ({ alias: aliasOf(c), ticket_id: c.req.param('id') ?? '' })
const pathOf = (c: C): string => ticketPath(aliasOf(c), c.req.param('id') ?? '')

async function showNew(c: C, typed?: { title: string; body: string; problem: ServiceError }) {
  organizationOf(c)
  const app = await visitOf(c).call(showApp, { alias: aliasOf(c) })
  return page(c, {
    title: 'File a ticket',
    lead: html`On <a href="${appPath(app.alias)}">${app.name}</a>. Those who work on it read it, and you hear of every answer.`,
    status: statusOf(typed?.problem),
    body: html`<div class="card">
      ${problemNotice(typed?.problem, ['title', 'body'])}
      ${form(
        c,
        `${appPath(app.alias)}/tickets/new`,
        html`${inputField({ name: 'title', label: 'Title', value: typed?.title ?? '', required: true, maxlength: TITLE_MAX, className: 'field-wide', problem: typed?.problem })}
        ${areaField({ name: 'body', label: 'What happened', value: typed?.body ?? '', rows: 8, required: true, maxlength: TEXT_MAX, hint: 'What you did, what you expected, and what came instead.', problem: typed?.problem })}
        <div class="actions">${button('File the ticket')} ${linkButton(appPath(app.alias), 'Cancel', 'quiet')}</div>`,
        'stack',
      )}
    </div>`,
  })
}

async function file(c: C) {
  const typed = { title: text(c.get('form'), 'title'), body: textOf(c) }
  const tried = await attempt(() => visitOf(c).call(fileTicket, { alias: aliasOf(c), ...typed }))
  if ('problem' in tried) return showNew(c, { ...typed, problem: tried.problem })
  leaveFlash(c, 'done', 'The ticket is filed.')
  return c.redirect(ticketPath(aliasOf(c), tried.done.id), 303)
}

/** Forms send line breaks as two characters; what was typed has one. */
const textOf = (c: C): string => text(c.get('form'), 'body').replaceAll('\r\n', '\n')

async function showOne(c: C, typed?: { body: string; internal: boolean; problem: ServiceError }) {
  organizationOf(c)
  const { call } = visitOf(c)
  const [ticket, app] = await Promise.all([
    call(showTicket, askedOf(c)),
    call(showApp, { alias: aliasOf(c) }),
  ])
  const worksOnIt = app.my_part !== null
  return page(c, {
    title: ticket.title,
    lead: html`On <a href="${appPath(app.alias)}">${app.name}</a> ${statusBadge(ticket.status)}`,
    status: statusOf(typed?.problem),
    body: html`
      <ol class="thread">
        ${message(ticket.reporter.name, ticket.created_at, ticket.body)}
        ${ticket.replies.map(({ author, at, body, internal }) => message(author.name, at, body, internal))}
      </ol>
      ${replyCard(c, worksOnIt, typed)}
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
  c: C,
  worksOnIt: boolean,
  typed: { body: string; internal: boolean; problem: ServiceError } | undefined,
) =>
  card(
    'Answer',
    html`${problemNotice(typed?.problem, ['body'])}
    ${form(
      c,
      pathOf(c),
      html`${areaField({ name: 'body', label: 'Text', value: typed?.body ?? '', rows: 5, required: true, maxlength: TEXT_MAX, problem: typed?.problem })}
      ${
        worksOnIt &&
        html`<fieldset>
          <legend>Who reads it</legend>
          ${choice('radio', 'internal', 'no', !typed?.internal, 'The reporter and those who work on the app', 'They are told.')}
          ${choice('radio', 'internal', 'yes', typed?.internal ?? false, 'Only those who work on the app', 'A note. Nobody is told.')}
        </fieldset>`
      }
      ${button('Send')}`,
      'stack',
    )}`,
  )

async function reply(c: C) {
  const typed = { body: textOf(c), internal: text(c.get('form'), 'internal') === 'yes' }
  const tried = await attempt(() => visitOf(c).call(replyToTicket, { ...askedOf(c), ...typed }))
  if ('problem' in tried) return showOne(c, { ...typed, problem: tried.problem })
  leaveFlash(c, 'done', typed.internal ? 'The note is kept.' : 'The answer is sent.')
  return c.redirect(pathOf(c), 303)
}

const moveWords = (from: TicketStatus, to: TicketStatus): string => {
  if (to === 'open') return from === 'done' ? 'Open again' : 'Back to open'
  return to === 'done' ? 'Mark as done' : 'Take in progress'
}

/** Only those who work on the app take a ticket in progress. */
const moveCard = (c: C, { status }: Ticket, worksOnIt: boolean) =>
  card(
    'State',
    html`<p>It is ${STATUS_WORDS[status].label.toLowerCase()}.</p>
    ${form(
      c,
      `${pathOf(c)}/status`,
      html`<div class="actions">
        ${TICKET_STATUSES.filter((to) => to !== status && (worksOnIt || to !== 'in_progress')).map(
          (to) =>
            html`<button type="submit" name="status" value="${to}" class="button button-quiet">${moveWords(status, to)}</button>`,
        )}
      </div>`,
    )}`,
  )

function move(c: C) {
  const status = TICKET_STATUSES.find((one) => one === text(c.get('form'), 'status')) ?? 'open'
  return actAndReturn(c, pathOf(c), `The ticket is ${STATUS_WORDS[status].label.toLowerCase()}.`, () =>
    visitOf(c).call(moveTicket, { ...askedOf(c), status }),
  )
}
