/** On the integrations page, where the contract puts it: what the organization is notified of, newest first. */
import { html } from 'hono/html'
import { listSubscriptions } from '../../../contracts/subscriptions.ts'
import { card, linkButton } from '../../../pages/parts.ts'
import { badge, breakable, table } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { TIMING_LABELS } from '../deliveries/delivery-labels.ts'
import { SUBSCRIPTIONS_PATH } from './subscription-fields.ts'

const SHOWN = 5

export async function notificationsCard(c: PageContext, hasIntegrations: boolean) {
  const { subscriptions } = await sessionOf(c).call(listSubscriptions, { limit: SHOWN })
  return card(
    'Notifications',
    html`${
      subscriptions.length > 0 &&
      table(
        'The newest subscriptions',
        ['Event type', 'Destination', 'Timing', 'Status'],
        subscriptions.map(({ pattern, integration, timing, enabled }) => [
          html`<code>${breakable(pattern, '.')}</code>`,
          integration.name,
          TIMING_LABELS[timing],
          enabled ? badge('On', 'on') : badge('Paused', 'off'),
        ]),
      )
    }
    ${subscriptions.length === 0 && html`<p class="note">${hasIntegrations ? 'No subscriptions yet.' : 'Add an integration first.'}</p>`}
    <div class="actions">
      ${hasIntegrations && linkButton(`${SUBSCRIPTIONS_PATH}/new`, 'New subscription', 'quiet')}
      ${subscriptions.length > 0 && html`<a href="${SUBSCRIPTIONS_PATH}">All subscriptions</a>`}
    </div>`,
    'Which events are sent to which integration.',
  )
}
