/** Sends an event of the app: the same one however often it has to be tried. */
import { askedDelayMs, isTemporary, type Api } from './api.ts'
import { pathPart } from './path-part.ts'
import { pause, retryDelayMs } from './pause.ts'
import type { Timing } from './timing.ts'

export type AppEvent = {
  /** Behind `app.<alias>.`: lowercase letters, digits, `_`, `-` and dots. */
  readonly name: string
  /** What it is about, such as `order-1234`. Events of one subject arrive in the order they were sent. */
  readonly subject: string
  /** One line for the inbox of the people of the app; it is sent nowhere else. */
  readonly text?: string
  /** A page of the console. Default: that of the app. */
  readonly link?: string
  /** The same key is the same event, for good. Default: every call is an event of its own. */
  readonly key?: string
}

export type SendEvent = (event: AppEvent, signal: AbortSignal) => Promise<void>

const REQUEST_MS = 10_000
const ATTEMPTS = 5

/** Throws what the server refuses, and what still fails after some attempts. */
export const eventSender =
  (api: Api, app: string, timing: Timing): SendEvent =>
  async ({ name, key = crypto.randomUUID(), ...event }, signal) => {
    const body = { ...event, type: `app.${app}.${name}`, idempotency_key: key }
    for (let attempt = 1; ; attempt += 1) {
      try {
        await api(`/api/deploy/apps/${pathPart(app)}/events`, body, { timeoutMs: REQUEST_MS, signal })
        return
      } catch (error) {
        if (attempt === ATTEMPTS || signal.aborted || !isTemporary(error)) throw error
        const delay = retryDelayMs(attempt, timing.firstRetryMs, timing.longestRetryMs)
        await pause(Math.max(askedDelayMs(error), delay), signal)
      }
    }
  }
