/**
 * Which calls this process works on. A credential (a grant, or an API token) has a limited number of calls open, and fewer
 * of them run at a time; the others wait, and the credential with the fewest running ones is next. So neither an agent that
 * calls in parallel nor many agents together delay another agent, or a person whose statements would queue behind theirs.
 */
export type QueueLimits = {
  /** Calls one credential may have open, running ones included. */
  readonly openPerCredential: number
  readonly runningPerCredential: number
  readonly running: number
  /** When a call lets the next one start, if it said that it would. */
  readonly slowMs: number
  /** A call that could not start within this time is refused. */
  readonly waitMs: number
  /** Longer than any call takes. One whose end nobody reported must not count for ever. */
  readonly openMs: number
}

export const QUEUE_LIMITS: QueueLimits = {
  // decisions, section 4.
  openPerCredential: 16,
  runningPerCredential: 2,
  running: 32,
  slowMs: 500,
  waitMs: 15_000,
  openMs: 60_000,
}

type Credential = { readonly key: string; open: number; running: number; readonly waiting: Set<() => void> }

export type Turn = {
  end(): void
  /** For a call that, if it takes long, waits for a data source or a model rather than for this process. */
  yieldWhenSlow(): void
}

export function callQueue(limits: QueueLimits = QUEUE_LIMITS) {
  /** Those with an open call, in the order of their last turn, or of their arrival before the first. */
  const credentials = new Map<string, Credential>()
  let running = 0

  /** Resolves when the call may start; undefined when it may not. */
  async function enter(key: string, signal: AbortSignal): Promise<Turn | undefined> {
    const credential = credentials.get(key) ?? { key, open: 0, running: 0, waiting: new Set() }
    if (credential.open >= limits.openPerCredential) return undefined
    credentials.set(key, credential)
    credential.open += 1
    if (!(await turnOf(credential, signal))) {
      close(credential)
      return undefined
    }
    const stopRunning = once(() => {
      credential.running -= 1
      running -= 1
      startNext()
    })
    const end = once(() => {
      for (const timer of timers) clearTimeout(timer)
      close(credential)
      stopRunning()
    })
    const timers = [setTimeout(end, limits.openMs)]
    return { end, yieldWhenSlow: () => void timers.push(setTimeout(stopRunning, limits.slowMs)) }
  }

  /** False when it took too long, or the client has gone. */
  function turnOf(credential: Credential, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (hasTurn: boolean) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        credential.waiting.delete(start)
        resolve(hasTurn)
      }
      const start = () => settle(true)
      const giveUp = () => settle(false)
      const timer = setTimeout(giveUp, limits.waitMs)
      if (signal.aborted) return giveUp()
      signal.addEventListener('abort', giveUp)
      credential.waiting.add(start)
      startNext()
    })
  }

  function startNext(): void {
    const credential = running < limits.running ? nextCredential() : undefined
    const [start] = credential?.waiting ?? []
    if (!credential || !start) return
    credentials.delete(credential.key)
    credentials.set(credential.key, credential)
    credential.running += 1
    running += 1
    start()
  }

  function nextCredential(): Credential | undefined {
    let next: Credential | undefined
    for (const credential of credentials.values()) {
      if (credential.waiting.size === 0 || credential.running >= limits.runningPerCredential) continue
      if (!next || credential.running < next.running) next = credential
    }
    return next
  }

  function close(credential: Credential): void {
    credential.open -= 1
    if (credential.open === 0) credentials.delete(credential.key)
  }

  return { enter }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}
