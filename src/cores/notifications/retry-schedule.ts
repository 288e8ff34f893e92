/** When a refused message is tried again, and after how many refusals no more. */
import type { Channel } from '../../contracts/deliveries.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE

/** Seconds before each attempt. Webhooks as Standard Webhooks 1.0 recommends; the others answer to people sooner. */
const A_HANDFUL = [0, 10, MINUTE, 5 * MINUTE, 30 * MINUTE]
const DELAYS: Record<Channel, readonly number[]> = {
  webhook: [0, 5, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)],
  chat: A_HANDFUL,
  direct_message: A_HANDFUL,
  forum: A_HANDFUL,
  email: [0, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR],
}

/** Receivers that broke together must not be knocked at together. */
const JITTER = 0.2
/** Whoever asks for longer is asked again by then. */
const RETRY_AFTER_MAX_SECONDS = 24 * HOUR

/** Undefined: that was the last one. `luck` is from 0 to 1. */
export function secondsToNextAttempt(
  channel: Channel,
  attemptsMade: number,
  luck: number,
  retryAfterSeconds = 0,
): number | undefined {
  const delay = DELAYS[channel][attemptsMade]
  if (delay === undefined) return undefined
  const spread = delay * (1 - JITTER + 2 * JITTER * luck)
  return Math.max(spread, Math.min(retryAfterSeconds, RETRY_AFTER_MAX_SECONDS))
}
