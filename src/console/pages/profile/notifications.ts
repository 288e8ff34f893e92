/** Profile settings > Notifications: the apps a user follows, their emails, and their chat account. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { CATEGORIES, TIMINGS, type Category } from '../../../contracts/channels.ts'
import { REASONS } from '../../../contracts/deliveries.ts'
import { EVENT_TYPES, EVENTS, matches, TimingName } from '../../../contracts/events.ts'
import { showChatLink } from '../../../contracts/integrations.ts'
import {
  listFollows,
  listMySubscriptions,
  setFollow,
  updateMySubscription,
} from '../../../contracts/subscriptions.ts'
import { button, card, selectField } from '../../../pages/parts.ts'
import { icon } from '../../../pages/icons.ts'
import { attempt, backField, form, returnPath, text, texts } from '../../forms.ts'
import { act } from '../../act.ts'
import { setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import {
  breakable,
  badge,
  emptyState,
  exactTime,
  filterForm,
  table,
  time,
  timeToCome,
} from '../../components.ts'
import { pager } from '../../pager.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { chatAccountCard, NOTIFICATIONS_PATH } from './chat-account.ts'
import { TIMING_LABELS } from '../deliveries/delivery-labels.ts'

type Follow = z.output<typeof listFollows.output>['follows'][number]
type Mine = z.output<typeof listMySubscriptions.output>['subscriptions'][number]

export const profileNotificationRoutes = () =>
  createRoutes()
    .get('/profile/notifications', showNotificationSettings)
    .post('/profile/notifications/follows', save)
    .post('/profile/notifications/mails/:subscription_id', switchEmail)

async function showNotificationSettings(c: PageContext) {
  const organization = organizationOf(c)
  const { call } = sessionOf(c)
  const following = c.req.query('following') === 'true'
  const [account, listed, mails] = await Promise.all([
    call(showChatLink, {}),
    call(listFollows, { following: following ? 'true' : 'false', cursor: c.req.query('cursor') }),
    call(listMySubscriptions, { cursor: c.req.query('mails') }),
  ])
  return page(c, {
    title: 'Notifications',
    lead: html`Your notifications from ${organization.name}. Everything you follow also appears in your <a href="/console/inbox">inbox</a>.`,
    body: html`
      ${chatAccountCard(c, account)}
      ${card(
        'Apps',
        html`${filterForm(
          c,
          'Filter apps',
          selectField({
            name: 'following',
            label: 'Show',
            value: String(following),
            options: [
              { value: 'false', label: 'All apps I can follow' },
              { value: 'true', label: 'Apps I follow' },
            ],
          }),
        )}
        ${listed.follows.length === 0 ? emptyList(c, following) : followsForm(c, listed.follows)}
        ${pager(c, listed.follows.length, listed)}`,
        'Apps you build, maintain or administer. This is checked again whenever something is sent.',
      )}
      ${card(
        'Schedule',
        html`<p>Daily messages are sent at 09:00 in ${organization.timezone}, the time zone of the organization; the next one on ${exactTime(listed.next_daily_at)}. Hourly messages are sent on the hour.</p>`,
      )}
      ${card('Emails', html`${emailTable(c, mails.subscriptions)} ${pager(c, mails.subscriptions.length, mails, 'mails')}`, 'Emails you receive. The link in each email turns them off too.')}
    `,
  })
}

const emptyList = (c: PageContext, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        'You are not following any apps',
        'Select categories for each app.',
        html`<a href="${NOTIFICATIONS_PATH}">Show all apps I can follow</a>`,
      )
    : emptyState(
        'No apps to follow yet',
        hasRole(sessionOf(c), 'developer')
          ? 'Create an app, or ask to be added to one as builder or maintainer.'
          : 'Apps you are added to as builder or maintainer are listed here.',
        html`<a href="/console/apps">Apps</a>`,
      )

const CATEGORY_NOTES: Record<Category, string> = {
  Checks: 'a check fails, errors or recovers',
  Maintenance: 'runs and proposals',
  'Failed deploys': 'failures only',
  Tickets: 'created, replied to, status changed',
}

const followsForm = (c: PageContext, follows: readonly Follow[]) =>
  form(
    c,
    `${NOTIFICATIONS_PATH}/follows`,
    html`${backField(c)}
    ${table(
      'Notifications by app',
      ['App', ...CATEGORIES, 'Frequency', 'Last message'],
      follows.map((one) => followRow(one, c.var.deps.clock())),
    )}
    <p class="note">${CATEGORIES.map((category, at) => html`${at > 0 && '; '}<strong>${category}</strong>: ${CATEGORY_NOTES[category]}`)}.</p>
    ${button('Save')}`,
    'stack follows',
  )

const followRow = (one: Follow, now: Date) => [
  html`<div class="two-lines"><strong class="id-text">${one.name}</strong><code class="note">${one.app}</code>
    <input type="hidden" name="was" value="${one.app}:${choiceOf(one)}" /></div>`,
  ...CATEGORIES.map(
    (category) =>
      html`<label class="tick"><input type="checkbox" name="follow" value="${one.app}:${category}" ${one.categories.includes(category) && html`checked`} /><span class="unseen">${category} of ${one.name}</span></label>`,
  ),
  html`<span class="select select-small"><select name="frequency-${one.app}" aria-label="Frequency for ${one.name}">
    ${TIMINGS.map((value) => html`<option value="${value}" ${value === one.frequency && html`selected`}>${TIMING_LABELS[value]}</option>`)}
  </select>${icon('down')}</span>`,
  lastOf(one, now),
]

const OUTCOME_BADGES = {
  delivered: ['Delivered', 'on'],
  retrying: ['Retrying', 'wait'],
  not_sent: ['Not sent', 'bad'],
} as const

function lastOf({ last }: Follow, now: Date) {
  if (last === null) return html`<span class="note">None</span>`
  const [word, kind] = OUTCOME_BADGES[last.outcome]
  return html`<div class="two-lines">${badge(word, kind)}
    <span class="note">${last.reason !== null && html`${REASONS[last.reason]}. `}${last.next_attempt_at === null ? time(last.at) : html`Next attempt ${timeToCome(last.next_attempt_at, now)}`}</span></div>`
}

/** The values the page was shown with, so that saving changes only what the user changed. */
const choiceOf = ({ categories, frequency }: Pick<Follow, 'categories' | 'frequency'>): string =>
  [frequency, ...CATEGORIES.filter((category) => categories.includes(category))].join('|')

async function save(c: PageContext) {
  const fields = c.get('form')
  const ticked = texts(fields, 'follow')
  const changed = texts(fields, 'was')
    .map((was) => {
      const alias = was.split(':')[0] ?? ''
      const categories = CATEGORIES.filter((category) => ticked.includes(`${alias}:${category}`))
      const frequency = TimingName.catch('immediately').parse(text(fields, `frequency-${alias}`))
      return {
        alias,
        categories,
        frequency,
        isSame: was === `${alias}:${choiceOf({ categories, frequency })}`,
      }
    })
    .filter(({ isSame }) => !isSame)
  const result = await attempt(async () => {
    for (const { alias, categories, frequency } of changed) {
      await sessionOf(c).call(setFollow, { alias, categories, frequency })
    }
  })
  if ('problem' in result) setFlash(c, 'problem', `Some changes were not saved: ${result.problem.message}.`)
  else setFlash(c, 'done', changed.length === 0 ? 'No changes.' : savedMessage(changed))
  return c.redirect(returnPath(c, NOTIFICATIONS_PATH), 303)
}

const savedMessage = (changed: readonly { alias: string; categories: readonly Category[] }[]): string =>
  changed
    .map(({ alias, categories }) =>
      categories.length === 0
        ? `You no longer follow ${alias}.`
        : `Following ${alias}: ${categories.join(', ').toLowerCase()}.`,
    )
    .join(' ')

const emailTable = (c: PageContext, mails: readonly Mine[]) =>
  mails.length === 0
    ? emptyState(
        'No emails yet',
        'Replies to your tickets are sent by email. Owners and admins also receive emails about support sessions.',
      )
    : table(
        'Your emails',
        ['About', 'Timing', 'Last sent', 'Status', '(Actions)'],
        mails.map((one) => [
          html`<div class="two-lines"><strong>${aboutOf(one.pattern)}</strong><code class="note">${breakable(one.pattern, '.')}</code></div>`,
          TIMING_LABELS[one.timing],
          one.last_delivery_at ? time(one.last_delivery_at) : html`<span class="note">Never</span>`,
          one.enabled ? badge('On', 'on') : badge('Off', 'off'),
          html`<div class="row-actions">${form(
            c,
            `${NOTIFICATIONS_PATH}/mails/${one.id}`,
            html`${backField(c)}<input type="hidden" name="on" value="${one.enabled ? 'no' : 'yes'}" />
              <button type="submit" class="button button-quiet button-small" aria-label="Turn ${one.enabled ? 'off' : 'on'}: ${one.pattern}">Turn ${one.enabled ? 'off' : 'on'}</button>`,
            '',
          )}</div>`,
        ]),
      )

/** From the catalog; a pattern that matches several is described by its first and the number of others. */
function aboutOf(pattern: string): string {
  const [first, ...others] = EVENT_TYPES.filter((type) => matches(pattern, type))
  if (first === undefined) return pattern
  return others.length === 0 ? EVENTS[first].when : `${EVENTS[first].when}, and ${others.length} more`
}

const switchEmail = act(updateMySubscription, {
  input: (sent) => ({ enabled: text(sent, 'on') === 'yes' }),
  back: (c) => returnPath(c, NOTIFICATIONS_PATH),
  done: (_, { enabled }) => (enabled ? 'Emails turned on.' : 'Emails turned off.'),
})
