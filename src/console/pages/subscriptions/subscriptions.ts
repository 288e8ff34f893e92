/** The organization's subscriptions: which integration receives which events, and when. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import {
  deleteSubscription,
  listSubscriptions,
  testSubscription,
  updateSubscription,
} from '../../../contracts/subscriptions.ts'
import { button, linkButton } from '../../../pages/parts.ts'
import { backField, form, returnPath, text, dangerForm } from '../../forms.ts'
import { act } from '../../act.ts'
import { formOf } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { badge, breakable, dialog, emptyState, labelOptions, time, listCard } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { CHANNEL_LABELS, TIMING_LABELS } from '../deliveries/delivery-labels.ts'
import { integrationOptions, INTEGRATIONS_PATH } from '../integrations/integration-labels.ts'
import { previewRegion, SPECIALS, SUBSCRIPTIONS_PATH, timingOf } from './subscription-fields.ts'

const LIST = listOf(listSubscriptions, {
  pattern: { label: 'Event type contains' },
  integration_id: {
    name: 'integration',
    label: 'Destination',
    all: 'All integrations',
    missing: 'Removed integration',
  },
  enabled: {
    label: 'Status',
    all: 'All statuses',
    options: labelOptions(['true', 'false'], { true: 'On', false: 'Paused' }),
  },
})
const CHANGE = formOf(updateSubscription, ['pattern', 'timing'], SPECIALS)

type Subscription = z.output<typeof listSubscriptions.output>['subscriptions'][number]

export const subscriptionRoutes = () =>
  createRoutes()
    .get('/subscriptions', showSubscriptions)
    .post('/subscriptions/:subscription_id/test', sendTest)
    .post('/subscriptions/:subscription_id/switch', setEnabled)
    .post('/subscriptions/:subscription_id/change', change)
    .post('/subscriptions/:subscription_id/delete', remove)

async function showSubscriptions(c: PageContext) {
  const organization = organizationOf(c)
  const { call } = sessionOf(c)
  const [listed, { integrations }] = await Promise.all([LIST.call(c, {}), call(listIntegrations, {})])
  const names = listed.subscriptions.some(({ created_by }) => created_by !== null)
    ? await namesOf(c)
    : new Map()
  return page(c, {
    title: 'Subscriptions',
    lead: `What the integrations of ${organization.name} receive. Members choose their own notifications in their profile settings.`,
    actions: integrations.length > 0 && linkButton(`${SUBSCRIPTIONS_PATH}/new`, 'New subscription'),
    body: listCard(c, {
      noun: 'subscriptions',
      ...LIST.parts(c, listed, { integration_id: integrationOptions(integrations) }),
      caption: 'Subscriptions, newest first',
      columns: ['Event type', 'Destination', 'Timing', 'Status', 'Last delivery', '(Actions)'],
      rows: listed.subscriptions.map((one) => cells(c, one, names)),
      empty: noSubscriptions(integrations.length > 0),
    }),
  })
}

/** Only the first page of members: fetching thousands for a name is not worth it. */
async function namesOf(c: PageContext): Promise<ReadonlyMap<string, string>> {
  const { members } = await sessionOf(c).call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX })
  return new Map(members.map(({ user_id, name }) => [user_id, name]))
}

const noSubscriptions = (hasIntegrations: boolean) =>
  hasIntegrations
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
          html`${backField(c)} ${CHANGE.show({ now: one }).field('pattern', { id: `pattern-${one.id}` })}
          ${previewRegion(`pattern-${one.id}`, '')}
          ${CHANGE.show({ now: one }).field('timing', { id: `timing-${one.id}`, ...timingOf(one.channel) })}
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

const back = (c: PageContext): string => returnPath(c, SUBSCRIPTIONS_PATH)

const sendTest = act(testSubscription, {
  back,
  done: 'Test event sent. See the result under Deliveries.',
})

const setEnabled = act(updateSubscription, {
  input: (sent) => ({ enabled: text(sent, 'on') === 'yes' }),
  back,
  done: (_, { enabled }) => (enabled ? 'Subscription resumed.' : 'Subscription paused.'),
})

const change = act(updateSubscription, { input: CHANGE.read, back, done: 'Subscription saved.' })

const remove = act(deleteSubscription, { back, done: 'Subscription deleted.' })
