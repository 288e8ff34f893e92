/** The user's own notifications: unread first, then read. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { acknowledgeNotification, listNotifications } from '../../../contracts/inbox.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { card, inputField, selectField } from '../../../pages/parts.ts'
import { attempt, backField, form, returnPath, texts } from '../../forms.ts'
import { setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { INBOX } from '../../navigation.ts'
import { breakable, changing, emptyState, filterForm, labelOptions, time } from '../../components.ts'
import { contractField } from '../../contract-field.ts'
import { pager } from '../../pager.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { NOTIFICATIONS_PATH } from '../profile/chat-account.ts'

type Listed = z.output<typeof listNotifications.output>
type Entry = Listed['notifications'][number]

export const inboxRoutes = () => createRoutes().get('/inbox', showInbox).post('/inbox/read', markRead)

const TYPE = contractField('type', listNotifications.input.shape.type, false)
const SHOWN = ['all', 'unread', 'read'] as const
const STATE_LABELS = { all: 'All', unread: 'Unread', read: 'Read' } as const

async function showInbox(c: PageContext) {
  const organization = organizationOf(c)
  const { call } = sessionOf(c)
  const { submitted, type, problem } = readType(c.req.query('type'))
  const state = SHOWN.find((one) => one === c.req.query('state')) ?? 'all'
  const [unread, read] = await Promise.all([
    state === 'read'
      ? undefined
      : call(listNotifications, {
          state: 'unread',
          type,
          cursor: c.req.query('cursor'),
          count: 'true',
          names: 'true',
        }),
    state === 'unread'
      ? undefined
      : call(listNotifications, {
          state: 'read',
          type,
          cursor: c.req.query('read'),
          count: 'true',
          names: 'true',
        }),
  ])
  return page(c, {
    title: 'Inbox',
    lead: html`Your notifications from ${organization.name}. Choose what you receive under <a href="${NOTIFICATIONS_PATH}">Notifications</a>. Assistants can read the same list.`,
    body: html`<div class="card">
        ${filterForm(
          c,
          'Filter inbox',
          html`${inputField({ name: 'type', label: 'Event type', value: submitted, maxlength: TYPE.maxlength, placeholder: 'deploy.failed, deploy.*', problem })}
          ${selectField({ name: 'state', label: 'Show', value: state, options: labelOptions(SHOWN, STATE_LABELS) })}`,
        )}
      </div>
      ${changing('notifications', 'inbox', html`${unread && unreadCard(c, unread, type !== undefined)} ${read && readCard(c, read)}`)}`,
  })
}

/** People edit addresses: an invalid event type is ignored, with a message. */
function readType(query: string | undefined) {
  const submitted = query?.trim().toLowerCase() ?? ''
  const type = listNotifications.input.shape.type.safeParse(submitted || undefined)
  const problems = ['type: not a valid event type, ignored']
  return {
    submitted,
    type: type.data,
    problem: type.success ? undefined : new ServiceError('INVALID_REQUEST', undefined, { problems }),
  }
}

const unreadCard = (c: PageContext, { notifications, unread_count, ...paged }: Listed, isFiltered: boolean) =>
  card(
    unread_count === 0 || isFiltered ? 'Unread' : `Unread (${unread_count})`,
    html`${
      notifications.length === 0
        ? emptyState(
            'No unread notifications',
            isFiltered ? 'None of this type.' : 'Notifications about apps you follow appear here.',
            html`<a href="${isFiltered ? INBOX : NOTIFICATIONS_PATH}">${isFiltered ? 'Show all types' : 'Notification settings'}</a>`,
          )
        : html`<ul class="news">${notifications.map((entry) => notificationItem(c, entry))}</ul>
          ${form(c, `${INBOX}/read`, html`${backField(c)}${notifications.map(({ id }) => html`<input type="hidden" name="id" value="${id}" />`)}<button type="submit" class="button button-quiet">Mark all on this page as read</button>`, '')}`
    }
    ${pager(c, notifications.length, paged)}`,
  )

const readCard = (c: PageContext, { notifications, ...paged }: Listed) =>
  (notifications.length > 0 || c.req.query('read') !== undefined || c.req.query('state') === 'read') &&
  card(
    'Read',
    html`${
      notifications.length === 0
        ? emptyState('No read notifications', 'Notifications you have read appear here.')
        : html`<ul class="news">${notifications.map((entry) => notificationItem(c, entry))}</ul>`
    }
    ${pager(c, notifications.length, paged, 'read')}`,
  )

const notificationItem = (
  c: PageContext,
  entry: Entry,
) => html`<li class="news-item ${!entry.read && 'news-unread'}">
  <div class="two-lines">
    <span class="news-summary">${isHttpUrl(entry.url) ? html`<a href="${entry.url}">${lineOf(entry)}</a>` : lineOf(entry)}</span>
    <span class="note"><code>${breakable(entry.type, '.')}</code> · <span class="id-word">${entry.subject}</span> · ${time(entry.timestamp)}</span>
  </div>
  ${!entry.read && form(c, `${INBOX}/read`, html`${backField(c)}<input type="hidden" name="id" value="${entry.id}" /><button type="submit" class="button button-quiet button-small" aria-label="Mark as read: ${entry.summary}">Mark as read</button>`, '')}
</li>`

/** What it is called comes first: several that happened to things of one app are told apart by it. */
const lineOf = ({ summary, name }: Entry) =>
  name ? html`<bdi>${name}</bdi> <span class="note">${summary}</span>` : summary

const isHttpUrl = (url: string | null): url is string =>
  url !== null && ['https:', 'http:'].includes(URL.parse(url)?.protocol ?? '')

async function markRead(c: PageContext) {
  const ids = texts(c.get('form'), 'id')
    .filter((id) => idPattern('ntf').test(id))
    .slice(0, PAGE_MAX)
  const result = await attempt(() =>
    Promise.all(
      ids.map((notification_id) => sessionOf(c).call(acknowledgeNotification, { notification_id })),
    ),
  )
  if ('problem' in result)
    setFlash(c, 'problem', `Some notifications could not be marked as read: ${result.problem.message}.`)
  else if (ids.length > 1) setFlash(c, 'done', `${ids.length} notifications marked as read.`)
  return c.redirect(returnPath(c, INBOX), 303)
}
