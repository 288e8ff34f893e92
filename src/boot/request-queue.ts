/**
 * When the requests of this process start. Node accepts one new connection in each turn of its event loop: while every turn
 * is full of requests, whoever connects waits for minutes. So a turn starts few of them, those of different clients in
 * turn, and hardly any as long as connections are waiting. Nothing here waits for another request to end for longer than
 * `slowMs`: requests that wait for each other, and streams, hold nobody up.
 */

export type QueueLimits = {
  readonly startsPerTurn: number
  /** As long as each turn accepts a connection, one request starts in so many of them. */
  readonly turnsPerStart: number
  readonly running: number
  /** A request that takes longer waits for somebody else more than it works, and no longer counts as running. */
  readonly slowMs: number
  /** More are refused at once: of one connection any number may come, and only answers make Node read it more slowly. */
  readonly waiting: number
  readonly waitingPerClient: number
  /** Whoever could not start within this time is refused. */
  readonly waitMs: number
}

const LIMITS: QueueLimits = {
  startsPerTurn: 8,
  turnsPerStart: 8,
  running: 32,
  slowMs: 200,
  waiting: 4_096,
  waitingPerClient: 1_024,
  waitMs: 15_000,
}

export type QueuedRequest = {
  /** Those with the same one start one after the other; of several, one of each in turn. */
  readonly client: string
  /** False where whoever answers it has a limit of its own on what runs at a time. */
  readonly counts: boolean
  /** The function that is given is to be called at its end. */
  readonly start: (end: () => void) => void
  readonly refuse: () => void
}

type Waiting = QueuedRequest & { readonly since: number }

export function requestQueue(limits: QueueLimits = LIMITS) {
  /** In the order in which each is next. */
  const clients = new Map<string, Set<Waiting>>()
  let running = 0
  let waitingCount = 0
  /** Of all kinds, however slow. */
  let open = 0
  let [isAccepting, turnsHeld, isPlanned] = [false, 0, false]

  /** In this turn of the event loop, after what it has received. */
  function plan(): void {
    if (isPlanned || clients.size === 0) return
    isPlanned = true
    setImmediate(startNext)
  }

  function startNext(): void {
    isPlanned = false
    const wasAccepting = isAccepting
    isAccepting = false
    if (wasAccepting && ++turnsHeld < limits.turnsPerStart) return plan()
    turnsHeld = 0
    const most = wasAccepting ? 1 : limits.startsPerTurn
    for (let started = 0; started < most && running < limits.running;) {
      const next = take()
      if (!next) return
      if (performance.now() - next.since > limits.waitMs) next.refuse()
      else {
        started += 1
        begin(next)
      }
    }
    if (running < limits.running) plan()
  }

  function begin({ counts, start }: QueuedRequest): void {
    let isOpen = true
    const endCounted = counts ? count() : () => {}
    open += 1
    start(() => {
      if (!isOpen) return
      isOpen = false
      open -= 1
      endCounted()
    })
  }

  function take(): Waiting | undefined {
    const [entry] = clients
    if (!entry) return undefined
    const [client, waiting] = entry
    const [next] = waiting
    waiting.delete(next!)
    waitingCount -= 1
    clients.delete(client)
    if (waiting.size > 0) clients.set(client, waiting)
    return next
  }

  /** Returns how to say that it has ended. */
  function count(): () => void {
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

  return {
    connectionAccepted: () => void (isAccepting = true),
    /** Returns how to take it back as long as it waits. */
    add(request: QueuedRequest): () => void {
      // Where nothing else is under way it starts at once: whoever closes their side right after it is still answered.
      if (open === 0 && clients.size === 0) {
        begin(request)
        return () => {}
      }
      const { client } = request
      const waiting = clients.get(client) ?? new Set()
      if (waitingCount >= limits.waiting || waiting.size >= limits.waitingPerClient) {
        request.refuse()
        return () => {}
      }
      clients.set(client, waiting)
      const one = { ...request, since: performance.now() }
      waiting.add(one)
      waitingCount += 1
      plan()
      return () => {
        if (!waiting.delete(one)) return
        waitingCount -= 1
        if (waiting.size === 0) clients.delete(client)
      }
    },
  }
}
