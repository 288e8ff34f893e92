/**
 * When the requests of this process start, and whose is next: by network address first, and then by who was validated. What
 * nobody has looked at yet, a made-up token as much as none, has a small lane of its own (src/contracts/fair-queues.ts), of
 * which a turn of the event loop starts one, and fewer while somebody who was validated waits for an answer: a flood of it hardly
 * delays them.
 *
 * Node accepts one new connection in each turn of its event loop: while every turn is full of requests, whoever connects
 * waits for minutes. So a turn starts few, and hardly any as long as connections are waiting. Nothing here waits for another
 * request to end for longer than `slowMs`: requests that wait for each other, and streams, hold nobody up.
 */
import { FAIR_QUEUES, type CountedRules } from '../contracts/fair-queues.ts'
import { networkOf, networksAround } from '../contracts/network-of.ts'
import { createFairQueue, type Turn } from '../cores/work/fair-queue.ts'
import { sha256 } from '../trust/keyed-hash.ts'

export type AdmissionLimits = {
  readonly startsPerTurn: number
  readonly unvalidatedPerTurn: number
  /** From the end of one that is not validated to the next, as long as the process works for one that is. */
  readonly unvalidatedGapMs: number
  /** As long as each turn accepts a connection, one of each lane starts in so many of them. */
  readonly turnsPerStart: number
  /** Urgent ones that start at once in a turn; more of them wait like all others. */
  readonly urgentPerTurn: number
  /** A request that takes longer waits for somebody else more than it works, and no longer counts as running. */
  readonly slowMs: Readonly<Record<Lane, number>>
  /** Validated credentials whose owner is known, and for how long after they were validated last. */
  readonly remembered: number
  readonly rememberedMs: number
  readonly lanes: Readonly<Record<Lane, LaneRules>>
}

type Lane = 'validated' | 'unvalidated'
type LaneRules = CountedRules & { readonly waitMs: number }

export const ADMISSION_LIMITS: AdmissionLimits = {
  startsPerTurn: 8,
  unvalidatedPerTurn: 1,
  unvalidatedGapMs: 2,
  turnsPerStart: 8,
  urgentPerTurn: 32,
  slowMs: { validated: 200, unvalidated: 50 },
  remembered: 10_000,
  rememberedMs: 10 * 60_000,
  lanes: { validated: FAIR_QUEUES.validatedRequests, unvalidated: FAIR_QUEUES.unvalidatedRequests },
}

export type Refusal = {
  readonly because: 'line_full' | 'waited_too_long'
  /** Others of its own network wait too: fewer of those would have let it in. */
  readonly isOwnDoing: boolean
  /** Until those who wait now have had their turn, as fast as turns were given lately. */
  readonly retryAfterSeconds: number
}

export type AdmittedRequest = {
  readonly address: string
  /** What it shows of whoever makes it: the header as it came, empty without one. */
  readonly credential: string
  /** Whoever answers calls of assistants has turns of its own for those who were validated. */
  readonly hasOwnTurns: boolean
  readonly isUrgent: boolean
  readonly start: () => void
  readonly refuse: (refusal: Refusal) => void
}

/** `leave` is there while it waits, `end` once it has started. */
type Waiting = {
  readonly request: AdmittedRequest
  /** Of its credential; empty without one. */
  readonly digest: string
  keys: readonly string[]
  lane: Lane
  readonly since: number
  leave?: (() => void) | undefined
  end?: () => void
}

export type Admission = ReturnType<typeof createAdmission>

export function createAdmission(
  limits: AdmissionLimits = ADMISSION_LIMITS,
  now: () => number = () => performance.now(),
  startTimer: (act: () => void, ms: number) => NodeJS.Timeout = setTimeout,
) {
  const lanes = { validated: laneOf('validated'), unvalidated: laneOf('unvalidated') }
  /** By the digest of a validated credential, those used last at the end. */
  const identities = new Map<string, { readonly identity: string; readonly until: number }>()
  /** Those that wait with a credential that is not validated, by its digest. */
  const unvalidated = new Map<string, Set<Waiting>>()
  /** Of all kinds, however slow. */
  let open = 0
  let [isAccepting, turnsHeld, isPlanned, urgentStarts] = [false, 0, false, 0]
  /** One that did not wait, since starts were last planned. */
  let hasStarted = false
  let isProxyForgotten = false
  /** Worked for, and not slow yet. */
  const running = { validated: 0, unvalidated: 0 }
  let unvalidatedFrom = 0
  let gapTimer: NodeJS.Timeout | undefined

  function laneOf(lane: Lane) {
    const rate = startRate(now)
    const queue = createFairQueue<Waiting>(limits.lanes[lane], { refuse: (one) => refuse(one, 'line_full') })
    return { queue, rate }
  }

  const waitingCount = () => lanes.validated.queue.waiting() + lanes.unvalidated.queue.waiting()

  /** In this turn of the event loop, after what it has received. */
  function plan(): void {
    if (isPlanned || (waitingCount() === 0 && !hasStarted)) return
    isPlanned = true
    setImmediate(startNext)
  }

  function startNext(): void {
    isPlanned = false
    const wasAccepting = isAccepting
    isAccepting = false
    if (wasAccepting && ++turnsHeld < limits.turnsPerStart) return plan()
    turnsHeld = 0
    hasStarted = false
    const isMoreValidated = startOf('validated', wasAccepting ? 1 : limits.startsPerTurn)
    const isMore = startUnvalidated(wasAccepting ? 1 : limits.unvalidatedPerTurn)
    if (isMoreValidated || isMore) plan()
  }

  function startUnvalidated(most: number): boolean {
    if (lanes.unvalidated.queue.waiting() === 0) return false
    if (running.validated === 0) return startOf('unvalidated', most)
    if (running.unvalidated > 0) return false
    const waitMs = unvalidatedFrom - now()
    if (waitMs <= 0) return startOf('unvalidated', 1)
    gapTimer ??= startTimer(() => {
      gapTimer = undefined
      plan()
    }, waitMs).unref()
    return false
  }

  /** False where no more of them may start now. */
  function startOf(lane: Lane, most: number): boolean {
    for (let started = 0; started < most;) {
      const turn = lanes[lane].queue.take()
      if (!turn) return false
      const one = turn.value
      hasLeft(one)
      if (now() - one.since > limits.lanes[lane].waitMs) {
        turn.end()
        refuse(one, 'waited_too_long')
      } else {
        started += 1
        begin(one, turn)
      }
    }
    return true
  }

  function begin(one: Waiting, turn: Turn<Waiting> | undefined): void {
    const { lane, request } = one
    lanes[lane].rate.count()
    let [isOpen, isRunning] = [true, true]
    // Urgent ones say whether the process is well, or belong to a request that counts elsewhere.
    const counts = request.isUrgent ? 0 : 1
    running[lane] += counts
    const stopRunning = () => {
      if (!isRunning) return
      isRunning = false
      running[lane] -= counts
      if (lane === 'unvalidated') unvalidatedFrom = now() + limits.unvalidatedGapMs
      turn?.end()
      plan()
    }
    if (lane === 'validated' && request.hasOwnTurns) turn?.end()
    const timer = startTimer(stopRunning, limits.slowMs[lane]).unref()
    open += 1
    one.end = () => {
      if (!isOpen) return
      isOpen = false
      open -= 1
      clearTimeout(timer)
      stopRunning()
    }
    request.start()
  }

  function refuse(one: Waiting, because: Refusal['because']): void {
    const { queue, rate } = lanes[one.lane]
    hasLeft(one)
    one.request.refuse({
      because,
      isOwnDoing: one.lane === 'unvalidated' && queue.waiting(one.keys) > 0,
      retryAfterSeconds: rate.secondsFor(queue.waiting(), limits.lanes[one.lane].waitMs / 1000),
    })
  }

  /**
   * Where nothing else is under way, too: whoever closes their side right after it is still answered. But one in a turn: of
   * those that are answered within it, such as refused tokens, any number would find nothing under way.
   */
  function startsAtOnce({ isUrgent }: AdmittedRequest): boolean {
    if (open === 0 && waitingCount() === 0 && !hasStarted) {
      hasStarted = true
      plan()
      return true
    }
    if (!isUrgent || urgentStarts >= limits.urgentPerTurn) return false
    if (urgentStarts === 0) setImmediate(() => void (urgentStarts = 0))
    urgentStarts += 1
    return true
  }

  function placeOf(request: AdmittedRequest): Waiting {
    const digest = request.credential === '' ? '' : sha256(request.credential)
    const known = identities.get(digest)
    const network = networkOf(request.address)
    const since = now()
    const { block, site } = networksAround(network)
    const keys = [site, block, network]
    if (known && since < known.until)
      return { request, digest, lane: 'validated', keys: [...keys, known.identity], since }
    return { request, digest, lane: 'unvalidated', keys, since }
  }

  function add(request: AdmittedRequest): () => void {
    const one = placeOf(request)
    const over = () => (one.end ?? one.leave)?.()
    if (startsAtOnce(request)) {
      begin(one, request.isUrgent ? undefined : lanes[one.lane].queue.start(one.keys, one))
    } else wait(one)
    return over
  }

  function wait(one: Waiting): void {
    const leave = lanes[one.lane].queue.add(one.keys, one)
    if (!leave) return refuse(one, 'line_full')
    one.leave = () => {
      leave()
      hasLeft(one)
    }
    if (one.lane === 'unvalidated' && one.digest !== '') {
      const same = unvalidated.get(one.digest) ?? new Set()
      unvalidated.set(one.digest, same.add(one))
    }
    plan()
  }

  /** It waits no more. */
  function hasLeft(one: Waiting): void {
    one.leave = undefined
    const same = unvalidated.get(one.digest)
    if (same?.delete(one) && same.size === 0) unvalidated.delete(one.digest)
  }

  /** Those who came with it before anybody knew whose it is: a program that begins with a hundred requests at once. */
  function moveToValidated(digest: string, identity: string): void {
    for (const one of unvalidated.get(digest) ?? []) {
      one.leave!()
      one.lane = 'validated'
      one.keys = [...one.keys, identity]
      wait(one)
    }
  }

  function validated(credential: string, identity: string): void {
    const digest = sha256(credential)
    identities.delete(digest)
    identities.set(digest, { identity, until: now() + limits.rememberedMs })
    if (identities.size > limits.remembered) identities.delete(identities.keys().next().value!)
    moveToValidated(digest, identity)
  }

  function noticeProxy(): boolean {
    const isFirst = !isProxyForgotten
    isProxyForgotten = true
    return isFirst
  }

  return {
    connectionAccepted: () => void (isAccepting = true),
    counts: () => ({ open, waiting: waitingCount() }),
    /** Returns how to say that it is over: it has ended, or whoever sent it has gone, and it must not start any more. */
    add,
    /** Whose credential this is: a service has validated it. It decides whose turn is next, never what somebody may do. */
    validated,
    refused: (credential: string) => void identities.delete(sha256(credential)),
    /** True for the first: requests from there carry forwarded addresses, and nobody said that they may be believed. */
    noticeProxy,
    /** Without its address, which is nobody's business outside. */
    warnings: (): string[] => (isProxyForgotten ? [FORGOTTEN_PROXY] : []),
  }
}

export const FORGOTTEN_PROXY =
  'A proxy forwards requests that TRUSTED_PROXIES does not name: everybody behind it counts as one address'

/** How many turns were given in the last second. */
function startRate(now: () => number) {
  let [second, counted, before] = [0, 0, 0]
  function move(): void {
    const current = Math.floor(now() / 1000)
    if (current === second) return
    before = current === second + 1 ? counted : 0
    ;[second, counted] = [current, 0]
  }
  return {
    count(): void {
      move()
      counted += 1
    },
    secondsFor(waiting: number, most: number): number {
      move()
      return Math.max(1, Math.ceil(Math.min(most, waiting / Math.max(1, before, counted))))
    },
  }
}
