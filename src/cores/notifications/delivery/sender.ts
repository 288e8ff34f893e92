/**
 * Sends what is due. At any moment at most IN_FLIGHT_MAX messages of a process have an attempt without a written outcome:
 * so many a kill can leave unconfirmed. A slot is free again when the outcome is written, not when it is known.
 */
import { CHANNELS, type Channel } from '../../../contracts/channels.ts'
import { ATTEMPT_LEASE_SECONDS, CLAIM, IN_FLIGHT_MAX } from '../../../contracts/limits.ts'
import type { Outcome } from '../channels/channel-ports.ts'
import { attemptResult, finishAndStartAttempts, type AttemptResult } from './attempts.ts'
import { claimMessages, releaseClaims, type Claim, type MessageKey } from './claim-messages.ts'
import { handleFailedAttempts, type FailureDeps } from './handle-failed-attempts.ts'
import { prepareMessages, type PreparedMessage } from './prepare-messages.ts'

export type SenderDeps = FailureDeps & {
  /** Counts attempts by how they ended. */
  readonly observeAttempt?: ((channel: Channel, outcome: 'sent' | 'failed' | 'retrying') => void) | undefined
}

export type SenderOptions = {
  readonly worker: string
  readonly inFlightMax?: number
  readonly claimLeaseSeconds?: number
  readonly attemptLeaseSeconds?: number
}

export type Sender = {
  hasCapacity(): boolean
  /** Claims more and prepares it, so that it only has to be started. */
  claim(): Promise<Claim>
  /** Writes the outcomes there are and starts what fits; false: there was nothing to do. */
  flush(): Promise<boolean>
  /** Resolves with the next outcome. */
  nextOutcome(): Promise<void>
  hasInFlight(): boolean
  /** Half of what may be in flight has an outcome, or all that is: worth a commit. */
  shouldFlush(): boolean
  /** Starts nothing any more. */
  close(): void
  /** Gives back what was not started. */
  release(): Promise<void>
}

type Ready = { readonly message: PreparedMessage; readonly checkedAt: number }

/** What was checked longer ago is checked again before it leaves: who may have it may have changed. */
const CHECK_VALID_MS = 1_000

export function createSender(
  deps: SenderDeps,
  {
    worker,
    inFlightMax = IN_FLIGHT_MAX,
    claimLeaseSeconds = CLAIM.leaseSeconds,
    attemptLeaseSeconds = ATTEMPT_LEASE_SECONDS,
  }: SenderOptions,
): Sender {
  const claimer = { worker, leaseSeconds: claimLeaseSeconds, afterOrgId: '' }
  const claimed: MessageKey[] = []
  const ready: Ready[] = []
  const finished: { message: PreparedMessage; result: AttemptResult }[] = []
  let inFlight = 0
  let isClosed = false
  let outcomeSignal = Promise.withResolvers<void>()

  async function attempt(message: PreparedMessage, number: number): Promise<void> {
    const startedAt = deps.clock()
    const outcome: Outcome = await message.send().catch((error: unknown) => {
      // How far it got is not known, so it may have arrived.
      deps.log.warn('a channel failed', { channel: message.channel, message: message.id, error })
      return { kind: 'unknown' }
    })
    const now = deps.clock()
    const durationMs = now.getTime() - startedAt.getTime()
    const result = attemptResult({ ...message, number }, outcome, { now, durationMs, jitter: Math.random() })
    deps.observeAttempt?.(message.channel, result.state === 'pending' ? 'retrying' : result.state)
    finished.push({ message, result })
    outcomeSignal.resolve()
    outcomeSignal = Promise.withResolvers<void>()
  }

  async function prepare(keys: readonly MessageKey[]): Promise<void> {
    const checkedAt = deps.clock().getTime()
    const messages = await prepareMessages(deps, keys)
    ready.push(...messages.map((message) => ({ message, checkedAt })))
  }

  /** What goes to a person is always checked again: whether they still may have it is asked at every attempt. */
  async function recheck(taken: readonly Ready[]): Promise<PreparedMessage[]> {
    const since = deps.clock().getTime() - CHECK_VALID_MS
    const isFresh = ({ message, checkedAt }: Ready) =>
      checkedAt >= since && CHANNELS[message.channel].recipient !== 'person'
    const fresh = taken.filter(isFresh).map(({ message }) => message)
    const stale = taken.filter((one) => !isFresh(one)).map(({ message }) => keyOf(message))
    return stale.length === 0 ? fresh : [...fresh, ...(await prepareMessages(deps, stale))]
  }

  return {
    hasCapacity: () => !isClosed && ready.length < CLAIM.rows,
    async claim() {
      const claim = await claimMessages(deps, claimer)
      // Also those that could not be prepared the last time, because the database did not answer.
      const keys = [...claimed.splice(0), ...claim.claimed]
      try {
        if (keys.length > 0) await prepare(keys)
      } catch (error) {
        claimed.push(...keys)
        throw error
      }
      return claim
    },
    async flush() {
      const done = finished.splice(0)
      const taken = isClosed ? [] : ready.splice(0, inFlightMax - inFlight + done.length)
      if (done.length === 0 && taken.length === 0) return false
      // Their slots are taken from here on: another flush may run beside this one.
      inFlight += taken.length
      try {
        const next = await recheck(taken)
        const started = await finishAndStartAttempts(
          deps,
          { worker, leaseSeconds: attemptLeaseSeconds },
          done.map(({ result }) => result),
          next.map(keyOf),
        )
        inFlight -= done.length + taken.length - started.length
        const byKey = new Map(next.map((message) => [`${message.orgId} ${message.id}`, message]))
        for (const { orgId, id, number } of started) void attempt(byKey.get(`${orgId} ${id}`)!, number)
      } catch (error) {
        // Whether it was committed is not known and need not be: results count once, and only claims can be started.
        inFlight -= taken.length
        finished.unshift(...done)
        claimed.push(...taken.map(({ message }) => keyOf(message)))
        throw error
      }
      const failed = done.filter(({ result }) => result.outcome === 'failed')
      if (failed.length > 0) await handleFailedAttempts(deps, failed)
      return true
    },
    nextOutcome: () => (finished.length > 0 ? Promise.resolve() : outcomeSignal.promise),
    hasInFlight: () => inFlight > 0,
    shouldFlush: () => finished.length >= Math.min(inFlightMax / 2, inFlight),
    close: () => void (isClosed = true),
    async release() {
      ready.length = 0
      claimed.length = 0
      await releaseClaims(deps, worker)
    },
  }
}

const keyOf = ({ orgId, id }: MessageKey): MessageKey => ({ orgId, id })
