/**
 * What an answer means for the message, by channel and status: one closed table. decisions, 11: what the receiver itself
 * refused is a refusal; an error of whatever stands in front of it says nothing about what happened behind, so it is
 * unknown, and an unknown message is not sent again by itself.
 */
import type { Channel } from '../../contracts/channels.ts'
import type { DeliveryReason } from '../../contracts/deliveries.ts'
import type { Outcome } from '../../cores/notifications/channels/channel-ports.ts'
import type { Posted } from './guarded-post.ts'

export type Meaning = 'sent' | 'unknown' | { readonly reason: DeliveryReason; readonly retry: boolean }

const REFUSED = { reason: 'refused', retry: false } as const
const REFUSED_FOR_NOW = { reason: 'refused', retry: true } as const
const SERVER_ERROR = { reason: 'server_error', retry: true } as const
const RATE_LIMITED = { reason: 'rate_limited', retry: true } as const
const LOST = { reason: 'integration_lost', retry: false } as const

type StatusClass = '2xx' | '3xx' | '4xx' | '5xx'
/** Channels that speak HTTP. */
type HttpChannel = Exclude<Channel, 'email'>

/** The status itself counts before its class. */
const ANSWER_OUTCOMES = {
  webhook: {
    '2xx': 'sent',
    '3xx': REFUSED_FOR_NOW,
    '4xx': REFUSED_FOR_NOW,
    // Standard Webhooks: "never again"; everything else may be a bad day.
    410: { reason: 'endpoint_gone', retry: false },
    429: RATE_LIMITED,
    // 502, 504 and those of content networks (520 to 527): from something in between, which may have passed it on.
    '5xx': 'unknown',
    500: SERVER_ERROR,
    503: SERVER_ERROR,
  },
  chat: {
    '2xx': 'sent',
    '3xx': REFUSED,
    '4xx': REFUSED,
    404: LOST,
    410: LOST,
    429: RATE_LIMITED,
    '5xx': 'unknown',
  },
  // It says in the body what happened; without that nothing is known, except where it was not let in at all.
  direct_message: { '2xx': 'unknown', '3xx': 'unknown', '4xx': REFUSED, 429: RATE_LIMITED, '5xx': 'unknown' },
  // Before 401, 403, 422 and 5xx count, the adapter looks whether the key still works or the topic is there.
  forum: {
    '2xx': 'sent',
    '3xx': REFUSED,
    '4xx': REFUSED,
    401: LOST,
    403: LOST,
    429: RATE_LIMITED,
    '5xx': SERVER_ERROR,
  },
} as const satisfies Record<
  HttpChannel,
  Readonly<Record<StatusClass, Meaning>> & Readonly<Record<number, Meaning>>
>

function meaningOf(channel: HttpChannel, status: number): Meaning {
  const row: Readonly<Record<string, Meaning>> = ANSWER_OUTCOMES[channel]
  // What is no status at all is nobody's answer.
  return row[status] ?? row[`${Math.floor(status / 100)}xx`] ?? 'unknown'
}

type Answered = Extract<Posted, { kind: 'answered' }>

/** By its status alone, unless what was said means something else. */
export function outcomeOf(
  channel: HttpChannel,
  { status: httpStatus, retryAfterSeconds, response, responseWithheld }: Answered,
  meaning: Meaning = meaningOf(channel, httpStatus),
): Outcome {
  const answer = {
    httpStatus,
    ...(response !== undefined && { response }),
    ...(responseWithheld === true && { responseWithheld }),
  }
  if (typeof meaning === 'string') return { kind: meaning, ...answer }
  return {
    kind: 'refused',
    ...meaning,
    ...answer,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}

/** For every channel alike: what never left may be tried again, what may have arrived may not. */
export function withoutAnswer(posted: Exclude<Posted, { kind: 'answered' }>): Outcome {
  if (posted.kind === 'unknown') return posted
  return {
    kind: 'refused',
    // A name that leads inside today may lead outside again tomorrow.
    reason: posted.because === 'address' ? 'address_refused' : posted.because,
    retry: true,
  }
}
