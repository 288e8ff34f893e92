/** Labels of deliveries: channels, states, reasons, timing. */
import {
  CHANNEL_NAMES,
  CHANNELS,
  type Channel,
  type DeliveryState,
  type Timing,
} from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
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

/** What the receiver said, or why there is nothing that it said. */
export const failureWords = (one: { reason: DeliveryReason | null; http_status: number | null }): string =>
  one.http_status === null ? SHORT_REASONS[one.reason ?? 'outcome_unknown'] : `HTTP ${one.http_status}`

/** Of a row; the page of the delivery has the sentence. */
export const SHORT_REASONS: Record<DeliveryReason, string> = {
  matched_nobody: 'No recipient',
  own_action: 'Own action',
  outcome_unknown: 'No response',
  refused: 'Rejected',
  server_error: 'Server error',
  rate_limited: 'Rate limited',
  certificate_expired: 'Certificate expired',
  certificate_name: 'Wrong certificate',
  certificate_untrusted: 'Untrusted certificate',
  tls_failed: 'TLS failed',
  name_not_found: 'Name not found',
  connection_refused: 'Connection refused',
  reset: 'Connection reset',
  timed_out: 'Timed out',
  not_reached: 'Not reached',
  address_refused: 'Private network',
  gave_up: 'Gave up',
  endpoint_gone: 'Address gone',
  endpoint_dead: 'Stopped after repeated failures',
  integration_lost: 'Access lost',
  integration_off: 'Turned off',
  paused_too_long: 'Paused too long',
  expired: 'Expired',
  subscription_off: 'Not subscribed',
  no_mail_server: 'No mail server',
  no_address: 'No email address',
  address_unverified: 'Not confirmed',
  address_suppressed: 'Address rejected',
  no_chat_workspace: 'No chat workspace',
  no_chat_account: 'No chat account',
  chat_account_inactive: 'Chat account inactive',
  no_longer_permitted: 'No longer permitted',
  not_a_member: 'Left',
  not_validated: 'Not seen for a day',
  no_forum_account: 'No forum account',
  no_acting_person: 'No author',
}
