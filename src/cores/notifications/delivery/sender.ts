/**
 * Sends what is due, by posts: one message, or webhooks to the same target together. At any moment at most as many posts
 * of a process as it can hold have an attempt without a written outcome: so many a kill can leave unconfirmed. A slot is
 * free again when the outcome is written, not when it is known.
 */
import { getHeapStatistics } from 'node:v8'
import type { Channel } from '../../../contracts/channels.ts'
import { ATTEMPT_LEASE_SECONDS, CLAIM, inFlightMaxOf } from '../../../contracts/limits.ts'
import { memberOf, type OpenAnswers } from '../../../trust/open-answers.ts'
import type { DriverDeps } from '../channels/channel-driver.ts'
import type { Outcome } from '../channels/channel-ports.ts'
import {
  attemptResult,
  finishAndStartAttempts,
  wakeTargets,
  type AttemptResult,
  type RecoveredTarget,
  type StartedAttempt,
} from './attempts.ts'
import {
  claimMessages,
  releaseClaims,
  type Claim,
  type ClaimedMessage,
  type MessageKey,
} from './claim-messages.ts'
import { handleFailedAttempts } from './handle-failed-attempts.ts'
import { capacityToClaim, openLanes } from './lanes.ts'
import { prepareMessages, type PreparedMessage } from './prepare-messages.ts'
import { responseExcerpt } from './response-excerpt.ts'
import { splitDigests } from './split-digests.ts'

export type SenderDeps = DriverDeps & {
  /** Counts attempts by how they ended. */
  readonly observeAttempt?: ((channel: Channel, outcome: 'sent' | 'failed' | 'retrying') => void) | undefined
  /** What this process writes, and for whom. */
  readonly answers?: Pick<OpenAnswers, 'during'>
}

export type SenderOptions = {
  readonly worker: string
  /** Called with each outcome. */
  readonly onOutcome?: () => void
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
  /** Does what failed attempts mean beyond their messages; false: there was nothing to do. Nothing that is sent waits for it. */
  followUp(): Promise<boolean>
  /** Resolves with the next outcome. */
  nextOutcome(): Promise<void>
  hasInFlight(): boolean
  /** Many have an outcome, or all that is in flight: worth a commit. */
  shouldFlush(): boolean
  /** Starts nothing any more. */
  close(): void
  /** Gives back what was not started. */
  release(): Promise<void>
}

/** Messages that leave together. The first has the lanes, and the place at the target. */
type Post = readonly PreparedMessage[]
type Started = StartedAttempt & { readonly message: PreparedMessage }
type Failed = { readonly message: PreparedMessage; readonly result: AttemptResult }
/** `entered` is the message as it was when it got its lanes: a later check may see it otherwise. */
type Finished = { readonly entered: PreparedMessage; readonly results: readonly Failed[] }
type Ready = { readonly post: Post; readonly checkedAt: number }

/** What was checked longer ago is checked again before it leaves: who may have it may have changed. */
const CHECK_VALID_MS = 1_000

/** So many outcomes are worth a commit of their own. */
const FLUSH_AT = 16

export function createSender(
  deps: SenderDeps,
  {
    worker,
    onOutcome,
    inFlightMax = inFlightMaxOf(getHeapStatistics().heap_size_limit),
    claimLeaseSeconds = CLAIM.leaseSeconds,
    attemptLeaseSeconds = ATTEMPT_LEASE_SECONDS,
  }: SenderOptions,
): Sender {
  const claimed: ClaimedMessage[] = []
  const ready: Ready[] = []
  const onTheirWay = new Map<PreparedMessage, number>()
  const written = new Map<PreparedMessage, () => void>()
  const finished: Finished[] = []
  const failed: Failed[] = []
  const room = () =>
    capacityToClaim(
      { ready: ready.map(({ post }) => post[0]!), inFlight: onTheirWay },
      inFlightMax,
      deps.clock().getTime(),
    )
  const claimer = { worker, leaseSeconds: claimLeaseSeconds, room }
  let inFlight = 0
  let isClosed = false
  let outcomeSignal = Promise.withResolvers<void>()

  async function attempt(started: readonly Started[], entered: PreparedMessage): Promise<void> {
    const [first, ...others] = started.map(({ message }) => message)
    const { channel, id, secrets } = first!
    const startedAt = deps.clock()
    const outcome: Outcome = await first!.send(others).catch((error: unknown) => {
      // How far it got is not known, so it may have arrived.
      deps.log.warn('a channel failed', { channel, message: id, error })
      return { kind: 'unknown' }
    })
    endWriting(entered)
    const now = deps.clock()
    const facts = {
      now,
      durationMs: now.getTime() - startedAt.getTime(),
      // The same for all of them: what is tried again is due together again.
      jitter: Math.random(),
      isShared: others.length > 0,
      response: responseExcerpt(outcome.response, secrets),
    }
    const results = started.map(({ message, number, carriedBy }) => {
      const result = attemptResult({ ...message, number, carriedBy }, outcome, facts)
      deps.observeAttempt?.(channel, result.state === 'pending' ? 'retrying' : result.state)
      return { message, result }
    })
    finished.push({ entered, results })
    onOutcome?.()
    outcomeSignal.resolve()
    outcomeSignal = Promise.withResolvers<void>()
  }

  async function prepare(messages: readonly ClaimedMessage[]): Promise<void> {
    const checkedAt = deps.clock().getTime()
    const posts = new Map(messages.map((message) => [nameOf(message), message.post]))
    // Claimed again after its claim had expired, it would be here twice and leave twice.
    ready.splice(0, ready.length, ...ready.filter(({ post }) => !post.some((one) => posts.has(nameOf(one)))))
    const prepared = await prepareMessages(deps, messages.map(keyOf))
    const byPost = Map.groupBy(prepared, (message) => `${message.orgId} ${posts.get(nameOf(message))}`)
    for (const post of byPost.values()) ready.push({ post, checkedAt })
  }

  /** What goes to a person is always checked again: whether they still may have it is asked at every attempt. */
  async function recheck(taken: readonly Ready[]): Promise<Post[]> {
    const since = deps.clock().getTime() - CHECK_VALID_MS
    const isFresh = ({ post, checkedAt }: Ready) => checkedAt >= since && post[0]!.userId === null
    const stale = taken.filter((one) => !isFresh(one)).flatMap(({ post }) => post.map(keyOf))
    const checked = new Map(
      (stale.length === 0 ? [] : await prepareMessages(deps, stale)).map((message) => [
        nameOf(message),
        message,
      ]),
    )
    return taken.map((one) =>
      isFresh(one) ? one.post : one.post.flatMap((message) => checked.get(nameOf(message)) ?? []),
    )
  }

  /**
   * Those that may start now, oldest first; they have their slots and lanes from here on: another flush may run beside.
   * What is left when everybody has had their own is lent.
   */
  function takeReady(occupied: number): Ready[] {
    const now = deps.clock().getTime()
    const lanes = openLanes(onTheirWay, { inFlightMax, occupied, now })
    const taken = new Set<Ready>()
    for (const borrows of [false, true]) {
      for (const one of ready) if (!taken.has(one) && lanes.enter(one.post[0]!, { borrows })) taken.add(one)
    }
    ready.splice(0, ready.length, ...ready.filter((one) => !taken.has(one)))
    for (const { post } of taken) {
      onTheirWay.set(post[0]!, now)
      beginWriting(post[0]!)
    }
    inFlight += taken.size
    return [...taken]
  }

  /** From before it is checked until nothing more is sent of it: whose access ends meanwhile waits for it. */
  function beginWriting(message: PreparedMessage): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { orgId, userId } = message
    written.set(message, resolve)
    void deps.answers?.during([orgId, ...(userId === null ? [] : [memberOf(orgId, userId)])], () => promise)
  }

  function endWriting(message: PreparedMessage): void {
    written.get(message)?.()
    written.delete(message)
  }

  /** Not started after all. */
  function putBack({ post }: Ready): void {
    endWriting(post[0]!)
    inFlight--
    onTheirWay.delete(post[0]!)
  }

  return {
    hasCapacity: () => !isClosed && room().hasRoom,
    async claim() {
      const claim = await claimMessages(deps, claimer)
      // Also those that could not be prepared the last time, because the database did not answer.
      const messages = [...claimed.splice(0), ...claim.claimed]
      try {
        await splitDigests(
          deps,
          worker,
          messages.filter(({ isDigest }) => isDigest),
        )
        if (messages.length > 0) await prepare(messages)
      } catch (error) {
        claimed.push(...messages)
        throw error
      }
      return claim
    },
    async flush() {
      const done = finished.splice(0)
      for (const { entered } of done) onTheirWay.delete(entered)
      const taken = isClosed ? [] : takeReady(inFlight - done.length)
      if (done.length === 0 && taken.length === 0) return false
      const results = done.flatMap((one) => one.results)
      let targets: readonly RecoveredTarget[]
      try {
        const next = await recheck(taken)
        const { started, recovered } = await finishAndStartAttempts(
          deps,
          { worker, leaseSeconds: attemptLeaseSeconds },
          results.map(({ result }) => result),
          next.map((post) => post.map(keyOf)),
        )
        targets = recovered
        inFlight -= done.length
        const startedByName = new Map(started.map((one) => [nameOf(one), one]))
        for (const [at, one] of taken.entries()) {
          const leaving = next[at]!.flatMap((message) => {
            const attempted = startedByName.get(nameOf(message))
            return attempted ? [{ ...attempted, message }] : []
          })
          if (leaving.length === 0) putBack(one)
          else void attempt(leaving, one.post[0]!)
        }
      } catch (error) {
        // Whether it was committed is not known and need not be: results count once, and only claims can be started.
        for (const one of taken) putBack(one)
        const now = deps.clock().getTime()
        for (const { entered } of done) onTheirWay.set(entered, now)
        finished.unshift(...done)
        claimed.push(...taken.flatMap(claimedAgain))
        throw error
      }
      failed.push(...results.filter(({ result }) => result.outcome === 'failed'))
      if (targets.length > 0) await wakeTargets(deps, targets)
      return true
    },
    async followUp() {
      const handled = failed.splice(0)
      try {
        if (handled.length > 0) await handleFailedAttempts(deps, handled)
      } catch (error) {
        // All of it counts once, so it may be done again.
        failed.unshift(...handled)
        throw error
      }
      return handled.length > 0
    },
    nextOutcome: () => (finished.length > 0 ? Promise.resolve() : outcomeSignal.promise),
    hasInFlight: () => inFlight > 0,
    shouldFlush: () => finished.length >= Math.min(FLUSH_AT, inFlight),
    close: () => void (isClosed = true),
    async release() {
      ready.length = 0
      claimed.length = 0
      await releaseClaims(deps, worker)
    },
  }
}

/** With those they were to leave with. */
const claimedAgain = ({ post }: Ready): ClaimedMessage[] =>
  post.map((message) => ({ ...keyOf(message), post: post[0]!.id, isDigest: false }))

const nameOf = ({ orgId, id }: MessageKey): string => `${orgId} ${id}`
const keyOf = ({ orgId, id }: MessageKey): MessageKey => ({ orgId, id })
