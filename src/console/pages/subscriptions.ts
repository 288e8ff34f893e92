/** The organization's subscriptions: which connection is told of what, and when. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ServiceError } from '../../contracts/errors.ts'
import { TIMINGS, TimingName, type Timing } from '../../contracts/events.ts'
import { idPattern } from '../../contracts/ids.ts'
import { listIntegrations } from '../../contracts/integrations.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { listMembers } from '../../contracts/members.ts'
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  testSubscription,
  updateSubscription,
} from '../../contracts/subscriptions.ts'
import { button, inputField, linkButton, problemNotice, selectField } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { backField, badge, emptyState, filters, form, opens, pager, table, time } from '../parts.ts'
import { backFrom, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { CHANNEL_WORDS, TIMING_WORDS } from './delivery-words.ts'
import { INTEGRATIONS_PATH, KIND_WORDS, type Integration } from './integration-words.ts'
import { breakable, patternField, previewOf, previewRegion, showPreview } from './pattern-preview.ts'

type C = Context<ConsoleEnv>
type Subscription = z.output<typeof listSubscriptions.output>['subscriptions'][number]
const PATH = '/console/subscriptions'

export const subscriptionPages = () =>
  new Hono<ConsoleEnv>()
    .get('/subscriptions', showSubscriptions)
    .get('/subscriptions/preview', showPreview)
    .get('/subscriptions/new', (c) => showNew(c))
    .post('/subscriptions/new', create)
    .post('/subscriptions/:id/test', sendTest)
    .post('/subscriptions/:id/switch', turn)
    .post('/subscriptions/:id/change', change)
    .post('/subscriptions/:id/delete', remove)

async function showSubscriptions(c: C) {
  const organization = organizationOf(c)
  const { call } = visitOf(c)
  const asked = readFilters(c.req.query())
  const [{ subscriptions, next_cursor }, { integrations }] = await Promise.all([
    call(listSubscriptions, { ...asked, cursor: c.req.query('cursor') }),
    call(listIntegrations, {}),
  ])
  const names = subscriptions.some(({ created_by }) => created_by !== null) ? await namesOf(c) : new Map()
  return page(c, {
    title: 'Subscriptions',
    lead: `What the connections of ${organization.name} are told. What people follow for themselves is on their own pages.`,
    actions: integrations.length > 0 && linkButton(`${PATH}/new`, 'New subscription'),
    body: html`<div class="card card-list">
      ${filters(
        c,
        'Filter subscriptions',
        html`${inputField({ name: 'pattern', label: 'Event type contains', type: 'search', value: asked.pattern ?? '', maxlength: 100 })}
        ${selectField({
          name: 'integration',
          label: 'Destination',
          value: asked.integration_id ?? '',
          options: [{ value: '', label: 'Every connection' }, ...connectionOptions(integrations)],
        })}
        ${selectField({
          name: 'enabled',
          label: 'State',
          value: asked.enabled ?? '',
          options: [
            { value: '', label: 'Every state' },
            { value: 'true', label: 'On' },
            { value: 'false', label: 'Paused' },
          ],
        })}`,
      )}
      ${
        subscriptions.length === 0
          ? nothing(
              Object.values(asked).some((value) => value !== undefined),
              integrations.length > 0,
            )
          : table(
              'Subscriptions, newest first',
              ['Event type', 'Destination', 'When', 'State', 'Last delivery', '(Actions)'],
              subscriptions.map((one) => cells(c, one, names)),
            )
      }
      ${pager(c, next_cursor)}
    </div>`,
  })
}

/** Filters stand in an address that people edit: what makes no sense is left out, not refused. */
const readFilters = (query: Record<string, string>) => ({
  pattern: query['pattern']?.trim().slice(0, 100) || undefined,
  integration_id: idPattern('int').test(query['integration'] ?? '') ? query['integration'] : undefined,
  enabled: ['true', 'false'].find((one) => one === query['enabled']),
})

/** Whoever is on the first page of members; the others are not worth a walk through thousands. */
async function namesOf(c: C): Promise<ReadonlyMap<string, string>> {
  const { members } = await visitOf(c).call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX })
  return new Map(members.map(({ user_id, name }) => [user_id, name]))
}

const connectionOptions = (integrations: readonly Integration[]) =>
  integrations.map(({ id, name, kind }) => ({
    value: id,
    label: `${name} (${KIND_WORDS[kind].toLowerCase()})`,
  }))

function nothing(isFiltered: boolean, hasConnections: boolean) {
  if (isFiltered) {
    return emptyState(
      'No subscription matches',
      'Try a shorter part of the event type, or every connection.',
      html`<a href="${PATH}">Show all subscriptions</a>`,
    )
  }
  return hasConnections
    ? emptyState(
        'No subscription yet',
        'Your connections are there, but nothing is sent to them. Subscribe one to what it should be told.',
        linkButton(`${PATH}/new`, 'Make the first one'),
      )
    : emptyState(
        'First comes a connection',
        'A subscription says what is sent where. Connect a chat channel, a webhook or a forum, then come back.',
        linkButton(INTEGRATIONS_PATH, 'Connect one'),
      )
}

const cells = (c: C, one: Subscription, names: ReadonlyMap<string, string>) => [
  html`<div class="two-lines"><code class="subject">${breakable(one.pattern)}</code><span class="note">${originOf(one, names)}</span></div>`,
  html`<div class="two-lines"><a class="quiet-link id-text" href="${INTEGRATIONS_PATH}/${one.integration.id}">${one.integration.name}</a><span class="note">${CHANNEL_WORDS[one.channel]}</span></div>`,
  TIMING_WORDS[one.timing],
  stateOf(one),
  one.last_delivery_at ? time(one.last_delivery_at) : html`<span class="note">never</span>`,
  html`<div class="row-actions">
    ${one.enabled && form(c, `${PATH}/${one.id}/test`, html`${backField(c)}<button type="submit" class="button button-quiet button-small" aria-label="Send test: ${one.pattern} to ${one.integration.name}">Send test</button>`)}
    ${manage(c, one)}
  </div>`,
]

function originOf({ is_default, created_by }: Subscription, names: ReadonlyMap<string, string>): string {
  if (is_default) return 'by default'
  const name = created_by === null ? undefined : names.get(created_by)
  return name === undefined ? 'added by hand' : `added by ${name}`
}

const PAUSED_WORDS = {
  paused: 'Paused',
  unsubscribed: 'Unsubscribed',
  connection_lost: 'Paused: connection lost',
} as const

const stateOf = ({ enabled, disabled_reason }: Subscription) =>
  enabled
    ? badge('On', 'on')
    : badge(PAUSED_WORDS[disabled_reason ?? 'paused'], disabled_reason === 'connection_lost' ? 'bad' : 'off')

const manage = (c: C, one: Subscription) =>
  opens(
    `manage-${one.id}`,
    'Manage',
    {
      title: breakable(one.pattern),
      content: html`
        ${form(
          c,
          `${PATH}/${one.id}/change`,
          html`${backField(c)} ${patternField({ id: `pattern-${one.id}`, value: one.pattern })}
          ${previewRegion(`pattern-${one.id}`, '')} ${timingField(one.timing, `timing-${one.id}`)}
          ${button('Save')}`,
          'stack',
        )}
        <div class="window-danger">
          ${form(
            c,
            `${PATH}/${one.id}/switch`,
            html`${backField(c)}<input type="hidden" name="on" value="${one.enabled ? 'no' : 'yes'}" />
            <h3>${one.enabled ? 'Pause' : 'Resume'}</h3>
            <p>${one.enabled ? 'Nothing more is sent until it is resumed. What happens meanwhile is not sent later.' : 'What happens from now on is sent again.'}</p>
            ${button(one.enabled ? 'Pause it' : 'Resume it', 'quiet')}`,
            'stack',
          )}
        </div>
        <div class="window-danger">
          ${form(
            c,
            `${PATH}/${one.id}/delete`,
            html`${backField(c)}
            <h3>Delete</h3>
            <p>${one.is_default ? html`<strong>This one was made by default. Deleted, it never comes back by itself.</strong> To stop it for a while, pause it.` : 'What waits to be sent through it is not sent.'}</p>
            ${button('Delete the subscription', 'danger')}`,
            'stack',
          )}
        </div>
      `,
    },
    `Manage ${one.pattern} to ${one.integration.name}`,
  )

const timingField = (value: Timing, id = 'timing') =>
  selectField({
    id,
    name: 'timing',
    label: 'When',
    value,
    options: TIMINGS.map((timing) => ({ value: timing, label: TIMING_WORDS[timing] })),
    hint: 'Hourly at the full hour, daily at 09:00 in the time zone of the organization; several events go in one message.',
  })

type Typed = { pattern: string; integration: string; timing: Timing }

async function showNew(c: C, typed?: Typed, problem?: ServiceError) {
  organizationOf(c)
  const { integrations } = await visitOf(c).call(listIntegrations, {})
  const now = typed ?? {
    pattern: c.req.query('pattern') ?? '',
    integration: c.req.query('integration') ?? '',
    timing: 'immediately' as const,
  }
  if (integrations.length === 0) return c.redirect(PATH)
  return page(c, {
    title: 'New subscription',
    lead: 'Type what the connection should be told; below you see what that would have been.',
    status: statusOf(problem),
    body: html`<div class="card">
      ${problemNotice(problem, ['pattern'])}
      ${form(
        c,
        `${PATH}/new`,
        html`<div class="beside">
            ${patternField({ id: 'pattern', value: now.pattern, problem })}
            <button type="submit" name="do" value="preview" class="button button-quiet" formnovalidate>Preview</button>
          </div>
          ${previewRegion('pattern', await previewOf(c, now.pattern))}
          ${selectField({ name: 'integration', label: 'Destination', value: now.integration, options: connectionOptions(integrations) })}
          ${timingField(now.timing)}
          <div class="actions">${button('Subscribe')} ${linkButton(PATH, 'Cancel', 'quiet')}</div>`,
        'stack',
      )}
    </div>`,
  })
}

async function create(c: C) {
  const fields = c.get('form')
  const typed: Typed = {
    pattern: text(fields, 'pattern'),
    integration: text(fields, 'integration'),
    timing: timingOf(fields),
  }
  if (text(fields, 'do') === 'preview') return showNew(c, typed)
  const tried = await attempt(() =>
    visitOf(c).call(createSubscription, {
      pattern: typed.pattern,
      integration_id: typed.integration,
      timing: typed.timing,
    }),
  )
  if ('problem' in tried) return showNew(c, typed, tried.problem)
  const { pattern, integration, notes } = tried.done
  leaveFlash(c, 'done', [`${integration.name} is subscribed to ${pattern}.`, ...notes].join(' '))
  return c.redirect(PATH, 303)
}

const timingOf = (fields: FormData): Timing => TimingName.catch('immediately').parse(text(fields, 'timing'))

function act(c: C, done: string, doIt: (subscription_id: string) => Promise<unknown>) {
  const back = backFrom(c)
  return actAndReturn(c, back.startsWith(PATH) ? back : PATH, done, () => doIt(c.req.param('id') ?? ''))
}

const sendTest = (c: C) =>
  act(c, 'A test event is on its way; how it fares stands in the delivery ledger.', (subscription_id) =>
    visitOf(c).call(testSubscription, { subscription_id }),
  )

const turn = (c: C) => {
  const enabled = text(c.get('form'), 'on') === 'yes'
  return act(c, enabled ? 'The subscription goes on.' : 'The subscription is paused.', (subscription_id) =>
    visitOf(c).call(updateSubscription, { subscription_id, enabled }),
  )
}

const change = (c: C) =>
  act(c, 'The subscription is saved.', (subscription_id) =>
    visitOf(c).call(updateSubscription, {
      subscription_id,
      pattern: text(c.get('form'), 'pattern'),
      timing: timingOf(c.get('form')),
    }),
  )

const remove = (c: C) =>
  act(c, 'The subscription is deleted.', (subscription_id) =>
    visitOf(c).call(deleteSubscription, { subscription_id }),
  )
