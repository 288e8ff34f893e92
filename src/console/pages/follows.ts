/** What a person follows: apps by category, the mails they get, and where their messages go. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { REASONS } from '../../contracts/deliveries.ts'
import {
  CATEGORIES,
  EVENT_TYPES,
  EVENTS,
  matches,
  TIMINGS,
  TimingName,
  type Category,
  type Timing,
} from '../../contracts/events.ts'
import { showChatLink } from '../../contracts/integrations.ts'
import {
  listFollows,
  listMySubscriptions,
  setFollow,
  switchMySubscription,
} from '../../contracts/subscriptions.ts'
import { button, card, selectField } from '../../pages/parts.ts'
import { icon } from '../../pages/icons.ts'
import { attempt } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { backField, badge, emptyState, filters, form, pager, table, time } from '../parts.ts'
import { backFrom, hasRole, organizationOf, text, texts, visitOf, type ConsoleEnv } from '../visit.ts'
import { chatAccountCard, FOLLOWS_PATH } from './chat-account.ts'
import { TIMING_WORDS } from './delivery-words.ts'
import { breakable } from './pattern-preview.ts'

type C = Context<ConsoleEnv>
type Follow = z.output<typeof listFollows.output>['follows'][number]
type Mine = z.output<typeof listMySubscriptions.output>['subscriptions'][number]

export const followPages = () =>
  new Hono<ConsoleEnv>()
    .get('/profile/notifications', showFollows)
    .post('/profile/notifications/follows', save)
    .post('/profile/notifications/mails/:id', switchMail)

async function showFollows(c: C) {
  const organization = organizationOf(c)
  const { call } = visitOf(c)
  const following = c.req.query('following') === 'true'
  const [account, listed, mails] = await Promise.all([
    call(showChatLink, {}),
    call(listFollows, { following: following ? 'true' : 'false', cursor: c.req.query('cursor') }),
    call(listMySubscriptions, { cursor: c.req.query('mails') }),
  ])
  return page(c, {
    title: 'What you follow',
    lead: html`Your own notifications from ${organization.name}. Whatever you follow also stands in your <a href="/console/inbox">inbox</a>.`,
    body: html`
      ${chatAccountCard(c, account)}
      ${card(
        'Apps',
        html`${filters(
          c,
          'Filter apps',
          selectField({
            name: 'following',
            label: 'Show',
            value: String(following),
            options: [
              { value: 'false', label: 'Every app I may follow' },
              { value: 'true', label: 'Only what I follow' },
            ],
          }),
        )}
        ${listed.follows.length === 0 ? nothing(c, following) : followsForm(c, listed.follows)}
        ${pager(c, listed.next_cursor)}`,
        'Those you build, maintain or administer. Whether you still do is checked whenever something is sent.',
      )}
      ${card(
        'When',
        html`<p>Daily messages go out at 09:00 in ${organization.timezone}, the time zone of the organization: the next one on ${time(listed.next_daily_at)}. Hourly ones go out at the full hour.</p>`,
      )}
      ${card('E-mails', html`${mailTable(c, mails.subscriptions)} ${pager(c, mails.next_cursor, 'mails')}`, 'What you get by e-mail, each with a switch. The link at the foot of a mail does the same.')}
    `,
  })
}

const nothing = (c: C, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        'You follow nothing yet',
        'Tick what interests you, app by app.',
        html`<a href="${FOLLOWS_PATH}">Show every app I may follow</a>`,
      )
    : emptyState(
        'There is no app for you to follow yet',
        hasRole(visitOf(c), 'developer')
          ? 'Make an app, or ask to be put on one as builder or maintainer.'
          : 'As soon as somebody puts you on an app as builder or maintainer, it is listed here.',
        html`<a href="/console/apps">Apps</a>`,
      )

const CATEGORY_NOTES: Record<Category, string> = {
  Checks: 'a check fails, errs or passes again',
  Maintenance: 'runs and proposals',
  'Failed deploys': 'bad news only',
  Tickets: 'filed, answered, moved',
}

const followsForm = (c: C, follows: readonly Follow[]) =>
  form(
    c,
    `${FOLLOWS_PATH}/follows`,
    html`${backField(c)}
    ${table('What you follow of each app', ['App', ...CATEGORIES, 'How often', 'Last message'], follows.map(followCells))}
    <p class="note">${CATEGORIES.map((category, at) => html`${at > 0 && '; '}<strong>${category}</strong>: ${CATEGORY_NOTES[category]}`)}.</p>
    ${button('Save')}`,
    'stack follows',
  )

const followCells = (one: Follow) => [
  html`<div class="two-lines"><strong class="id-text">${one.name}</strong><code class="note">${one.app}</code>
    <input type="hidden" name="was" value="${one.app}:${choiceOf(one)}" /></div>`,
  ...CATEGORIES.map(
    (category) =>
      html`<label class="tick"><input type="checkbox" name="follow" value="${one.app}:${category}" ${one.categories.includes(category) && html`checked`} /><span class="unseen">${category} of ${one.name}</span></label>`,
  ),
  html`<span class="select select-small"><select name="frequency-${one.app}" aria-label="How often for ${one.name}">
    ${TIMINGS.map((value) => html`<option value="${value}" ${value === one.frequency && html`selected`}>${TIMING_WORDS[value]}</option>`)}
  </select>${icon('down')}</span>`,
  lastOf(one),
]

const OUTCOME_BADGES = {
  delivered: ['Delivered', 'on'],
  retrying: ['Retrying', 'wait'],
  not_sent: ['Not sent', 'bad'],
} as const

function lastOf({ last }: Follow) {
  if (last === null) return html`<span class="note">none yet</span>`
  const [word, kind] = OUTCOME_BADGES[last.outcome]
  return html`<div class="two-lines">${badge(word, kind)}
    <span class="note">${last.reason !== null && html`${REASONS[last.reason]}. `}${last.next_attempt_at === null ? time(last.at) : html`Next ${time(last.next_attempt_at)}`}</span></div>`
}

/** What the page was shown with, so that Save touches only what was changed and no more. */
const choiceOf = ({
  categories,
  frequency,
}: {
  categories: readonly Category[]
  frequency: Timing
}): string => [frequency, ...CATEGORIES.filter((category) => categories.includes(category))].join('|')

async function save(c: C) {
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
  const tried = await attempt(async () => {
    for (const { alias, categories, frequency } of changed) {
      await visitOf(c).call(setFollow, { alias, categories, frequency })
    }
  })
  if ('problem' in tried) leaveFlash(c, 'problem', `Not all was saved: ${tried.problem.message}.`)
  else leaveFlash(c, 'done', changed.length === 0 ? 'Nothing was changed.' : savedWords(changed))
  return c.redirect(ownPage(c), 303)
}

const savedWords = (changed: readonly { alias: string; categories: readonly Category[] }[]): string =>
  changed
    .map(({ alias, categories }) =>
      categories.length === 0
        ? `You no longer follow ${alias}.`
        : `Of ${alias} you follow ${categories.join(', ').toLowerCase()}.`,
    )
    .join(' ')

const ownPage = (c: C): string => {
  const back = backFrom(c)
  return back.startsWith(FOLLOWS_PATH) ? back : FOLLOWS_PATH
}

const mailTable = (c: C, mails: readonly Mine[]) =>
  mails.length === 0
    ? emptyState(
        'No e-mails yet',
        'Replies to tickets you filed come by e-mail, and to owners and admins visits of support staff. The first one appears here.',
      )
    : table(
        'Your e-mails',
        ['About', 'When', 'Last', 'State', '(Switch)'],
        mails.map((one) => [
          html`<div class="two-lines"><strong>${aboutOf(one.pattern)}</strong><code class="note">${breakable(one.pattern)}</code></div>`,
          TIMING_WORDS[one.timing],
          one.last_delivery_at ? time(one.last_delivery_at) : html`<span class="note">never</span>`,
          one.enabled ? badge('On', 'on') : badge('Off', 'off'),
          html`<div class="row-actions">${form(
            c,
            `${FOLLOWS_PATH}/mails/${one.id}`,
            html`${backField(c)}<input type="hidden" name="on" value="${one.enabled ? 'no' : 'yes'}" />
              <button type="submit" class="button button-quiet button-small" aria-label="Switch ${one.enabled ? 'off' : 'on'}: ${one.pattern}">Switch ${one.enabled ? 'off' : 'on'}</button>`,
          )}</div>`,
        ]),
      )

/** In the words of the catalogue; a pattern of many is said by its first and how many more. */
function aboutOf(pattern: string): string {
  const [first, ...others] = EVENT_TYPES.filter((type) => matches(pattern, type))
  if (first === undefined) return pattern
  return others.length === 0 ? EVENTS[first].when : `${EVENTS[first].when}, and ${others.length} more`
}

const switchMail = (c: C) => {
  const enabled = text(c.get('form'), 'on') === 'yes'
  return actAndReturn(
    c,
    ownPage(c),
    enabled ? 'These e-mails are on.' : 'These e-mails are off, until you switch them on again.',
    () => visitOf(c).call(switchMySubscription, { subscription_id: c.req.param('id') ?? '', enabled }),
  )
}
