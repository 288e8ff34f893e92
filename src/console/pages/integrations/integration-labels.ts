/** Labels and paths of integrations. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import type { Integration as IntegrationShape, IntegrationState } from '../../../contracts/integrations.ts'
import { choice, type Content } from '../../../pages/parts.ts'
import { badge, exactTime } from '../../components.ts'

export type Integration = z.output<typeof IntegrationShape>

export const INTEGRATIONS_PATH = '/console/integrations'
export const pathOf = ({ id }: { id: string }): string => `${INTEGRATIONS_PATH}/${id}`

export const KIND_LABELS: Record<IntegrationKind, string> = {
  chat: 'Chat channel',
  webhook: 'Webhook',
  forum: 'Forum',
  email: 'Email address',
}

/** What one is chosen by. */
export type NamedIntegration = Pick<Integration, 'id' | 'name' | 'kind'>

export const integrationOptions = (integrations: readonly NamedIntegration[]) =>
  integrations.map(({ id, name, kind }) => ({
    value: id,
    label: `${name} (${KIND_LABELS[kind].toLowerCase()})`,
  }))

const IS_INCOMPLETE: Record<IntegrationKind, (integration: Integration) => boolean> = {
  chat: () => false,
  webhook: () => false,
  forum: ({ category }) => category === null,
  email: () => false,
}

const STOPPED: Record<Exclude<IntegrationState, 'active'>, Content> = {
  off: badge('Off', 'off'),
  paused: badge('Paused', 'wait'),
  unverified: badge('Not confirmed', 'wait'),
  lost: badge('Stopped: access lost', 'bad'),
  gone: badge('Stopped: receiver returned 410', 'bad'),
  dead: badge('Stopped: failed for days', 'bad'),
}

export function stateBadge(integration: Integration): Content {
  const { state, failing_since, last_success_at, kind } = integration
  if (state !== 'active') return STOPPED[state]
  if (IS_INCOMPLETE[kind](integration)) return badge('Setup incomplete', 'wait')
  if (failing_since === null) return badge('Active', 'on')
  const failing = last_success_at === null ? badge('Never worked', 'bad') : badge('Failing', 'bad')
  return html`${failing} <span class="note">since ${exactTime(failing_since)}</span>`
}

const LOST_BECAUSE: Record<IntegrationKind, string> = {
  chat: 'The chat service no longer accepts messages: the app was removed, or the channel was archived.',
  webhook: 'The receiver no longer accepts messages.',
  forum: 'The forum no longer accepts the API key.',
  email: 'The mail server no longer accepts messages.',
}

/** What the state means and how to fix it; nothing where there is nothing to do. */
export function stateAdvice(integration: Integration): string | undefined {
  const { state, failing_since, kind } = integration
  switch (state) {
    case 'off':
      return undefined
    case 'paused':
      return integration.waiting === 0
        ? 'Nothing waits yet. What comes is kept, and sent in order when you resume it.'
        : `${integration.waiting === 1 ? 'One delivery waits' : `${integration.waiting.toLocaleString('en')} deliveries wait`}. Resume it to send them in order.`
    case 'unverified':
      return 'Nobody has confirmed this address yet. Open the link that was sent there, and press the button. Nothing is sent before.'
    case 'lost':
      return `${LOST_BECAUSE[kind]} Subscriptions are paused until you reconnect it, or turn it on because it works again.`
    case 'gone':
      return 'The receiver returned 410 Gone, so nothing more is sent to this URL. Set a new URL, or turn the integration on again once the old one works.'
    case 'dead':
      return 'Every delivery failed for five days, so sending was stopped. Fix the receiver, then turn the integration on again. Failed deliveries can be replayed.'
    case 'active':
      if (IS_INCOMPLETE[kind](integration)) return 'Choose a forum category before anything can be sent.'
      return failing_since === null
        ? undefined
        : 'Recent deliveries failed and are being retried. Sending stops after five days without success.'
  }
}

export const resendChoices = (isOn: boolean) =>
  html`${choice('radio', 'resend', 'no', !isOn, 'Mark as unconfirmed', 'It may have arrived, so it is not sent again until someone replays it.')}
    ${choice('radio', 'resend', 'yes', isOn, 'Send again', 'For receivers that deduplicate by notification ID.')}`

export const destinationSummary = ({ kind, workspace, channel, category, address }: Integration): Content => {
  const target = [workspace, channel, category === null ? null : `category ${category}`].filter(
    (part) => part !== null,
  )
  return html`${KIND_LABELS[kind]}${target.length > 0 && html` · ${target.join(' · ')}`} <code class="id-text">${address}</code>`
}
