/** How deliveries are spoken of: channels, states, reasons, times. */
import { html } from 'hono/html'
import { REASONS, type Channel, type DeliveryState, type SendReason } from '../../contracts/deliveries.ts'
import type { Timing } from '../../contracts/events.ts'
import { badge } from '../parts.ts'

export const LEDGER_PATH = '/console/deliveries'

export const CHANNEL_WORDS: Record<Channel, string> = {
  email: 'E-mail',
  chat: 'Chat channel',
  direct_message: 'Direct message',
  webhook: 'Webhook',
  forum: 'Forum',
}

export const STATE_WORDS: Record<DeliveryState, string> = {
  waiting: 'Waiting',
  retrying: 'Retrying',
  sent: 'Sent',
  failed: 'Failed',
  dropped: 'Not sent',
}

const BADGES = { waiting: 'off', retrying: 'wait', sent: 'on', failed: 'bad', dropped: 'off' } as const

export const TIMING_WORDS: Record<Timing, string> = {
  immediately: 'Immediately',
  hourly: 'Once an hour',
  daily: 'Once a day',
}

/** A name is gone with its connection or its person; the row stays. */
export const destinationOf = ({ channel, destination }: { channel: Channel; destination: string | null }) =>
  destination ?? (['email', 'direct_message'].includes(channel) ? 'a former member' : 'a removed connection')

/** Unconfirmed is a failure of its own kind: it may have arrived. */
export const outcomeBadge = (one: { state: DeliveryState; unconfirmed: boolean }) =>
  one.unconfirmed ? badge('Unconfirmed', 'wait') : badge(STATE_WORDS[one.state], BADGES[one.state])

export const reasonWords = (reason: SendReason | null) =>
  reason !== null && html`<span class="note">${REASONS[reason]}</span>`
