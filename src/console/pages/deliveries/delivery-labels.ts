/** Labels of deliveries: channels, states, reasons, timing. */
import { html } from 'hono/html'
import {
  CHANNEL_NAMES,
  CHANNELS,
  type Channel,
  type DeliveryState,
  type Timing,
} from '../../../contracts/channels.ts'
import { REASONS, type DeliveryReason } from '../../../contracts/deliveries.ts'
import { badge } from '../../components.ts'

/** By name, as filters list them. */
export const CHANNEL_LABELS = Object.fromEntries(
  CHANNEL_NAMES.map((name) => [name, CHANNELS[name].label]),
) as Record<Channel, string>

export const DELIVERIES_PATH = '/console/deliveries'

export const STATE_LABELS: Record<DeliveryState, string> = {
  waiting: 'Waiting',
  retrying: 'Retrying',
  sent: 'Sent',
  failed: 'Failed',
  dropped: 'Not sent',
}

const BADGES = { waiting: 'off', retrying: 'wait', sent: 'on', failed: 'bad', dropped: 'off' } as const

export const TIMING_LABELS: Record<Timing, string> = {
  immediately: 'Immediately',
  hourly: 'Hourly',
  daily: 'Daily',
}

const REMOVED_DESTINATION = { person: 'Former member', integration: 'Removed integration' } as const

/** A person's name is deleted with them; the delivery stays. */
export const destinationOf = ({ channel, destination }: { channel: Channel; destination: string | null }) =>
  destination ?? REMOVED_DESTINATION[CHANNELS[channel].recipients[0]]

/** Unconfirmed is a separate kind of failure: the message may have arrived. */
export const outcomeBadge = (one: { state: DeliveryState; unconfirmed: boolean }) =>
  one.unconfirmed ? badge('Unconfirmed', 'wait') : badge(STATE_LABELS[one.state], BADGES[one.state])

export const reasonNote = (reason: DeliveryReason | null) =>
  reason !== null && html`<span class="note">${REASONS[reason]}</span>`
