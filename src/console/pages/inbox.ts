/** One's own notifications: unread ones first, then what was read. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { EventPattern } from '../../contracts/events.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { idPattern } from '../../contracts/ids.ts'
import { acknowledge, listInbox } from '../../contracts/inbox.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { card, inputField, selectField } from '../../pages/parts.ts'
import { attempt } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { INBOX } from '../navigation.ts'
import { backField, emptyState, filters, form, pager, time } from '../parts.ts'
import { backFrom, organizationOf, text, texts, visitOf, type ConsoleEnv } from '../visit.ts'
import { FOLLOWS_PATH } from './chat-account.ts'
import { breakable } from './pattern-preview.ts'

type C = Context<ConsoleEnv>
type Listed = z.output<typeof listInbox.output>
type Entry = Listed['notifications'][number]

export const inboxPages = () => new Hono<ConsoleEnv>().get('/inbox', showInbox).post('/inbox/read', markRead)

const SHOWN = ['all', 'unread', 'read'] as const
const SHOWN_WORDS = { all: 'Everything', unread: 'Unread', read: 'Read' } as const

async function showInbox(c: C) {
  const organization = organizationOf(c)
  const { call } = visitOf(c)
  const { typed, type, problem } = readType(c.req.query('type'))
  const state = SHOWN.find((one) => one === c.req.query('state')) ?? 'all'
  const [unread, read] = await Promise.all([
    state === 'read' ? undefined : call(listInbox, { state: 'unread', type, cursor: c.req.query('cursor') }),
    state === 'unread' ? undefined : call(listInbox, { state: 'read', type, cursor: c.req.query('read') }),
  ])
  return page(c, {
    title: 'Inbox',
    lead: html`What happened in ${organization.name} and concerns you. Decide what comes here under <a href="${FOLLOWS_PATH}">What you follow</a>; assistants read the same list.`,
    body: html`<div class="card">
        ${filters(
          c,
          'Filter the inbox',
          html`${inputField({ name: 'type', label: 'Event type', value: typed, maxlength: 100, placeholder: 'deploy.failed, deploy.*', problem })}
          ${selectField({ name: 'state', label: 'Show', value: state, options: SHOWN.map((value) => ({ value, label: SHOWN_WORDS[value] })) })}`,
        )}
      </div>
      ${unread && unreadCard(c, unread, type !== undefined)} ${read && readCard(c, read)}`,
  })
}

/** People edit addresses: what is no event type is left out, and they are told. */
function readType(query: string | undefined) {
  const typed = query?.trim().toLowerCase() ?? ''
  const type = EventPattern.optional().safeParse(typed || undefined)
  const problems = ['type: this is no event type; it was left out']
  return {
    typed,
    type: type.data,
    problem: type.success ? undefined : new ServiceError('INVALID_REQUEST', undefined, { problems }),
  }
}

const unreadCard = (c: C, { notifications, unread_count, next_cursor }: Listed, isFiltered: boolean) =>
  card(
    unread_count === 0 || isFiltered ? 'Unread' : `Unread (${unread_count})`,
    html`${
      notifications.length === 0
        ? emptyState(
            'You have read everything',
            isFiltered ? 'Nothing unread is of this type.' : 'News of the apps you follow appears here.',
            html`<a href="${isFiltered ? INBOX : FOLLOWS_PATH}">${isFiltered ? 'Show every type' : 'What you follow'}</a>`,
          )
        : html`<ul class="news">${notifications.map((entry) => newsItem(c, entry))}</ul>
          ${form(c, `${INBOX}/read`, html`${backField(c)}${notifications.map(({ id }) => html`<input type="hidden" name="id" value="${id}" />`)}<button type="submit" class="button button-quiet">Mark all on this page read</button>`)}`
    }
    ${pager(c, next_cursor)}`,
  )

const readCard = (c: C, { notifications, next_cursor }: Listed) =>
  (notifications.length > 0 || c.req.query('read') !== undefined || c.req.query('state') === 'read') &&
  card(
    'Read',
    html`${
      notifications.length === 0
        ? emptyState('Nothing here', 'What you have read is kept here.')
        : html`<ul class="news">${notifications.map((entry) => newsItem(c, entry))}</ul>`
    }
    ${pager(c, next_cursor, 'read')}`,
  )

const newsItem = (c: C, entry: Entry) => html`<li class="news-item ${!entry.read && 'news-unread'}">
  <div class="two-lines">
    <span class="news-summary">${leadsOn(entry.url) ? html`<a href="${entry.url}">${entry.summary}</a>` : entry.summary}</span>
    <span class="note"><code>${breakable(entry.type)}</code> · <span class="id-word">${entry.subject}</span> · ${time(entry.timestamp)}</span>
  </div>
  ${!entry.read && form(c, `${INBOX}/read`, html`${backField(c)}<input type="hidden" name="id" value="${entry.id}" /><button type="submit" class="button button-quiet button-small" aria-label="Mark read: ${entry.summary}">Mark read</button>`)}
</li>`

const leadsOn = (url: string | null): url is string =>
  url !== null && ['https:', 'http:'].includes(URL.parse(url)?.protocol ?? '')

async function markRead(c: C) {
  const ids = texts(c.get('form'), 'id')
    .filter((id) => idPattern('ntf').test(id))
    .slice(0, PAGE_MAX)
  const tried = await attempt(() =>
    Promise.all(ids.map((notification_id) => visitOf(c).call(acknowledge, { notification_id }))),
  )
  if ('problem' in tried) leaveFlash(c, 'problem', `Not all could be marked: ${tried.problem.message}.`)
  else if (ids.length > 1) leaveFlash(c, 'done', `${ids.length} notifications are marked read.`)
  const back = text(c.get('form'), 'back') === '' ? INBOX : backFrom(c)
  return c.redirect(back.startsWith(INBOX) ? back : INBOX, 303)
}
