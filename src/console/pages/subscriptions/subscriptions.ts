/** The organization's subscriptions: which integration receives which events, and when. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { idPattern } from '../../../contracts/ids.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import {
  deleteSubscription,
  listSubscriptions,
  testSubscription,
  updateSubscription,
} from '../../../contracts/subscriptions.ts'
import { button, inputField, linkButton } from '../../../pages/parts.ts'
import { backField, form, returnPath, text, dangerForm } from '../../forms.ts'
import { actAndReturn } from '../../flash.ts'
import { page } from '../../layout.ts'
import {
  badge,
  breakable,
  dialog,
  emptyState,
  filterSelect,
  labelOptions,
  time,
  listCard,
} from '../../components.ts'
import { createRoutes, idOf, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { CHANNEL_LABELS, TIMING_LABELS } from '../deliveries/delivery-labels.ts'
import { integrationOptions, INTEGRATIONS_PATH } from '../integrations/integration-labels.ts'
import {
  patternField,
  previewRegion,
  SUBSCRIPTIONS_PATH,
  timingField,
  timingOf,
} from './subscription-fields.ts'

type Subscription = z.output<typeof listSubscriptions.output>['subscriptions'][number]

export const subscriptionRoutes = () =>
  createRoutes()
    .get('/subscriptions', showSubscriptions)
    .post('/subscriptions/:id/test', sendTest)
    .post('/subscriptions/:id/switch', setEnabled)
    .post('/subscriptions/:id/change', change)
    .post('/subscriptions/:id/delete', remove)

async function showSubscriptions(c: PageContext) {
  const organization = organizationOf(c)
  const { call } = sessionOf(c)
  const filters = readFilters(c.req.query())
  const [{ subscriptions, next_cursor, total }, { integrations }] = await Promise.all([
    call(listSubscriptions, { ...filters, cursor: c.req.query('cursor'), count: 'true' }),
    call(listIntegrations, {}),
  ])
  const names = subscriptions.some(({ created_by }) => created_by !== null) ? await namesOf(c) : new Map()
  return page(c, {
    title: 'Subscriptions',
    lead: `What the integrations of ${organization.name} receive. Members choose their own notifications in their profile settings.`,
    actions: integrations.length > 0 && linkButton(`${SUBSCRIPTIONS_PATH}/new`, 'New subscription'),
    body: listCard(c, {
      label: 'Filter subscriptions',
      filters: html`${inputField({ name: 'pattern', label: 'Event type contains', type: 'search', value: filters.pattern ?? '', maxlength: 100 })}
        ${filterSelect({ name: 'integration', label: 'Destination', value: filters.integration_id, all: 'All integrations', options: integrationOptions(integrations), missing: 'Removed integration' })}
        ${filterSelect({ name: 'enabled', label: 'Status', value: filters.enabled, all: 'All statuses', options: labelOptions(['true', 'false'], { true: 'On', false: 'Paused' }) })}`,
      caption: 'Subscriptions, newest first',
      columns: ['Event type', 'Destination', 'Timing', 'Status', 'Last delivery', '(Actions)'],
      rows: subscriptions.map((one) => cells(c, one, names)),
      empty: emptyList(
        Object.values(filters).some((value) => value !== undefined),
        integrations.length > 0,
      ),
      next: next_cursor,
      total,
    }),
  })
}

/** Filters are part of an address that people edit: invalid values are ignored, not refused. */
const readFilters = (query: Record<string, string>) => ({
  pattern: query['pattern']?.trim().slice(0, 100) || undefined,
  integration_id: idPattern('int').test(query['integration'] ?? '') ? query['integration'] : undefined,
  enabled: ['true', 'false'].find((one) => one === query['enabled']),
})

/** Only the first page of members: fetching thousands for a name is not worth it. */
async function namesOf(c: PageContext): Promise<ReadonlyMap<string, string>> {
  const { members } = await sessionOf(c).call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX })
  return new Map(members.map(({ user_id, name }) => [user_id, name]))
}

function emptyList(isFiltered: boolean, hasIntegrations: boolean) {
  if (isFiltered) {
    return emptyState(
      'No matching subscriptions',
      'Try different filters.',
      html`<a href="${SUBSCRIPTIONS_PATH}">Show all subscriptions</a>`,
    )
  }
  return hasIntegrations
    ? emptyState(
        'No subscriptions yet',
        'Add one to choose what your integrations receive.',
        linkButton(`${SUBSCRIPTIONS_PATH}/new`, 'New subscription'),
      )
    : emptyState(
        'No integrations yet',
        'Add an integration first, then subscribe it to events.',
        linkButton(INTEGRATIONS_PATH, 'Add integration'),
      )
}

const cells = (c: PageContext, one: Subscription, names: ReadonlyMap<string, string>) => [
  html`<div class="two-lines"><code class="subject">${breakable(one.pattern, '.')}</code><span class="note">${originOf(one, names)}</span></div>`,
  html`<div class="two-lines"><a class="quiet-link id-text" href="${INTEGRATIONS_PATH}/${one.integration.id}">${one.integration.name}</a><span class="note">${CHANNEL_LABELS[one.channel]}</span></div>`,
  TIMING_LABELS[one.timing],
  stateOf(one),
  one.last_delivery_at ? time(one.last_delivery_at) : html`<span class="note">Never</span>`,
  html`<div class="row-actions">
    ${one.enabled && form(c, `${SUBSCRIPTIONS_PATH}/${one.id}/test`, html`${backField(c)}<button type="submit" class="button button-quiet button-small" aria-label="Send test: ${one.pattern} to ${one.integration.name}">Send test</button>`, '')}
    ${manage(c, one)}
  </div>`,
]

function originOf({ is_default, created_by }: Subscription, names: ReadonlyMap<string, string>): string {
  if (is_default) return 'default'
  const name = created_by === null ? undefined : names.get(created_by)
  return name === undefined ? 'added manually' : `added by ${name}`
}

const PAUSED_LABELS = {
  paused: 'Paused',
  unsubscribed: 'Unsubscribed',
  integration_lost: 'Paused: integration stopped',
} as const

const stateOf = ({ enabled, disabled_reason }: Subscription) =>
  enabled
    ? badge('On', 'on')
    : badge(
        PAUSED_LABELS[disabled_reason ?? 'paused'],
        disabled_reason === 'integration_lost' ? 'bad' : 'off',
      )

const manage = (c: PageContext, one: Subscription) =>
  dialog(
    `manage-${one.id}`,
    'Manage',
    {
      title: breakable(one.pattern, '.'),
      content: html`
        ${form(
          c,
          `${SUBSCRIPTIONS_PATH}/${one.id}/change`,
          html`${backField(c)} ${patternField({ id: `pattern-${one.id}`, value: one.pattern })}
          ${previewRegion(`pattern-${one.id}`, '')} ${timingField(one.timing, `timing-${one.id}`, one.channel)}
          ${button('Save')}`,
        )}
        ${dangerForm(c, `${SUBSCRIPTIONS_PATH}/${one.id}/switch`, {
          title: one.enabled ? 'Pause' : 'Resume',
          text: one.enabled
            ? 'Nothing is sent until it is resumed. Events in the meantime are not sent later.'
            : 'New events are sent again.',
          fields: html`<input type="hidden" name="on" value="${one.enabled ? 'no' : 'yes'}" />`,
          submit: one.enabled ? 'Pause' : 'Resume',
          kind: 'quiet',
        })}
        ${dangerForm(c, `${SUBSCRIPTIONS_PATH}/${one.id}/delete`, {
          title: 'Delete',
          text: one.is_default
            ? html`<strong>This is a default subscription. Once deleted, it is not created again.</strong> To stop it temporarily, pause it.`
            : 'Pending deliveries are not sent.',
          submit: 'Delete subscription',
        })}
      `,
    },
    `Manage ${one.pattern} to ${one.integration.name}`,
  )

function act(c: PageContext, done: string, doIt: (subscription_id: string) => Promise<unknown>) {
  return actAndReturn(c, returnPath(c, SUBSCRIPTIONS_PATH), done, () => doIt(idOf(c)))
}

const sendTest = (c: PageContext) =>
  act(c, 'Test event sent. See the result under Deliveries.', (subscription_id) =>
    sessionOf(c).call(testSubscription, { subscription_id }),
  )

const setEnabled = (c: PageContext) => {
  const enabled = text(c.get('form'), 'on') === 'yes'
  return act(c, enabled ? 'Subscription resumed.' : 'Subscription paused.', (subscription_id) =>
    sessionOf(c).call(updateSubscription, { subscription_id, enabled }),
  )
}

const change = (c: PageContext) =>
  act(c, 'Subscription saved.', (subscription_id) =>
    sessionOf(c).call(updateSubscription, {
      subscription_id,
      pattern: text(c.get('form'), 'pattern'),
      timing: timingOf(c.get('form')),
    }),
  )

const remove = (c: PageContext) =>
  act(c, 'Subscription deleted.', (subscription_id) =>
    sessionOf(c).call(deleteSubscription, { subscription_id }),
  )
