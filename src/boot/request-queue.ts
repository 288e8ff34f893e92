/**
 * When the requests of this process start. Node accepts one new connection in each turn of its event loop: while every turn
 * is full of requests, whoever connects waits for minutes. So a turn starts few of them, those of different clients in
 * turn, and hardly any as long as connections are waiting. Nothing here waits for another request to end for longer than
 * `slowMs`: requests that wait for each other, and streams, hold nobody up.
 *
 * Turns go by network address first, and by credential only among those of one address: nobody has looked yet whether a
 * credential is genuine, and anybody can make up thousands.
 */
import { linkedList } from '../cores/work/linked-list.ts'
import { waitingGroups } from './waiting-groups.ts'

export type QueueLimits = {
  readonly startsPerTurn: number
  /** As long as each turn accepts a connection, one request starts in so many of them. */
  readonly turnsPerStart: number
  /** Urgent ones that start at once in a turn; more of them wait like all others. */
  readonly urgentPerTurn: number
  readonly running: number
  /** A request that takes longer waits for somebody else more than it works, and no longer counts as running. */
  readonly slowMs: number
  /**
   * Of all together. An address has no share of its own, because nobody knows what it stands for: a person, an office, or
   * everybody behind a proxy that is not in TRUSTED_PROXIES. It may have the whole line, until others want to wait too:
   * then whoever has most in it gives way.
   */
  readonly waiting: number
  /** Whoever could not start within this time is refused. */
  readonly waitMs: number
}

export const QUEUE_LIMITS: QueueLimits = {
  startsPerTurn: 8,
  turnsPerStart: 8,
  urgentPerTurn: 32,
  running: 32,
  slowMs: 200,
  waiting: 4_096,
  waitMs: 15_000,
}

export type QueueRefusal = 'line_full' | 'waited_too_long'

export type QueuedRequest = {
  readonly address: string
  readonly credential: string
  /** False where whoever answers it has a limit of its own on what runs at a time. */
  readonly counts: boolean
  readonly isUrgent: boolean
  readonly start: () => void
  readonly refuse: (because: QueueRefusal) => void
}

/** `leave` is there while it waits, `end` once it has started. */
type Waiting = {
  readonly request: QueuedRequest
  readonly since: number
  leave?: () => void
  end?: () => void
}

export function requestQueue(limits: QueueLimits) {
  const addresses = waitingGroups(() => waitingGroups(() => linkedList<Waiting>()))
  let running = 0
  let waitingCount = 0
  /** Of all kinds, however slow. */
  let open = 0
  let [isAccepting, turnsHeld, isPlanned, urgentStarts] = [false, 0, false, 0]
  /** One that did not wait, since starts were last planned. */
  let hasStarted = false

  /** In this turn of the event loop, after what it has received. */
  function plan(): void {
    if (isPlanned || (waitingCount === 0 && !hasStarted)) return
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
    const most = wasAccepting ? 1 : limits.startsPerTurn
    for (let started = 0; started < most && running < limits.running;) {
      const next = take()
      if (!next) return
      const { request, since } = next
      if (performance.now() - since > limits.waitMs) request.refuse('waited_too_long')
      else {
        started += 1
        next.end = opened(request.counts)
        request.start()
      }
    }
    if (running < limits.running) plan()
  }

  /** Returns how to say that it has ended. */
  function opened(counts: boolean): () => void {
    let isOpen = true
    const endCounted = counts ? counted() : undefined
    open += 1
    return () => {
      if (!isOpen) return
      isOpen = false
      open -= 1
      endCounted?.()
    }
  }

  function counted(): () => void {
    let isCounted = true
    running += 1
    const end = () => {
      clearTimeout(timer)
      if (!isCounted) return
      isCounted = false
      running -= 1
      plan()
    }
    const timer = setTimeout(end, limits.slowMs).unref()
    return end
  }

  /**
   * Where nothing else is under way, too: whoever closes their side right after it is still answered. But one in a turn: of
   * those that are answered within it, such as refused tokens, any number would find nothing under way.
   */
  function startsAtOnce({ isUrgent }: QueuedRequest): boolean {
    if (open === 0 && waitingCount === 0 && !hasStarted) {
      hasStarted = true
      plan()
      return true
    }
    if (!isUrgent || urgentStarts >= limits.urgentPerTurn) return false
    if (urgentStarts === 0) setImmediate(() => void (urgentStarts = 0))
    urgentStarts += 1
    return true
  }

  function append(one: Waiting): void {
    const address = addresses.grow(one.request.address)
    const credential = address.members.grow(one.request.credential)
    const takeOut = credential.members.append(one)
    waitingCount += 1
    one.leave = () => {
      delete one.leave
      takeOut()
      address.members.shrink(credential)
      addresses.shrink(address)
      waitingCount -= 1
    }
  }

  function take(): Waiting | undefined {
    const address = addresses.next()
    const credential = address?.members.next()
    const next = credential?.members.first()
    if (!address || !credential || !next) return undefined
    next.leave?.()
    address.members.toBack(credential)
    addresses.toBack(address)
    return next
  }

  /**
   * Takes the newest of whoever has most in the line: of an address, or of a credential of the same address. False where
   * the new one would itself be of those: where everybody has one, whoever comes later is refused. To take the newest of
   * them instead would only refuse another newcomer, and nobody in the line could be sure of their place.
   */
  function takeFromLongest({ address, credential }: QueuedRequest): boolean {
    const own = addresses.get(address)
    const longest = addresses.longest()!
    const isOthers = longest.count > (own?.count ?? 0) + 1
    const most = (isOthers ? longest : own)?.members.longest()
    if (!most) return false
    if (!isOthers && most.count <= (own?.members.get(credential)?.count ?? 0) + 1) return false
    const newest = most.members.last()!
    newest.leave?.()
    newest.request.refuse('line_full')
    return true
  }

  return {
    connectionAccepted: () => void (isAccepting = true),
    counts: () => ({ open, waiting: waitingCount }),
    /** Returns how to say that it is over: it has ended, or whoever sent it has gone, and it must not start any more. */
    add(request: QueuedRequest): () => void {
      if (startsAtOnce(request)) {
        const end = opened(request.counts)
        request.start()
        return end
      }
      if (waitingCount >= limits.waiting && !takeFromLongest(request)) {
        request.refuse('line_full')
        return () => {}
      }
      const one: Waiting = { request, since: performance.now() }
      append(one)
      plan()
      return () => (one.end ?? one.leave)?.()
    },
  }
}
