/**
 * Which calls this process works on. A credential (a grant, or an API token) has a limited number of calls open, and of
 * those of one person, whatever their credentials, fewer run at a time; the others wait, and the person with the fewest
 * running ones is next. So neither an agent that calls in parallel nor many agents together delay another person's agent,
 * or a person whose statements would queue behind theirs.
 */
import { once } from './once.ts'

export type QueueLimits = {
  /** Calls one credential may have open, running ones included. */
  readonly openPerCredential: number
  readonly runningPerPerson: number
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
  runningPerPerson: 2,
  running: 32,
  slowMs: 500,
  waitMs: 15_000,
  openMs: 60_000,
}

type Person = { readonly key: string; open: number; running: number; readonly waiting: Set<() => void> }

/** The calls of one request: one, or those of a batch. */
export type OpenCalls = {
  /** Resolves when one of them may start; undefined when it may not. */
  turn(signal: AbortSignal): Promise<Turn | undefined>
  /** Ends the turns that are left, too. */
  readonly close: () => void
}

export type Turn = {
  end(): void
  /** For a call that, if it takes long, waits for a data source or a model rather than for this process. */
  yieldWhenSlow(): void
}

export function callQueue(limits: QueueLimits = QUEUE_LIMITS) {
  const openPerCredential = new Map<string, number>()
  /** Those with an open call, in the order of their last turn, or of their arrival before the first. */
  const persons = new Map<string, Person>()
  let running = 0

  /** Undefined when the credential may not have so many more. */
  function openCalls(
    { credential, person: key }: { credential: string; person: string },
    count: number,
  ): OpenCalls | undefined {
    const open = (openPerCredential.get(credential) ?? 0) + count
    if (open > limits.openPerCredential) return undefined
    openPerCredential.set(credential, open)
    const person = persons.get(key) ?? { key, open: 0, running: 0, waiting: new Set() }
    persons.set(key, person)
    person.open += count
    const turns = new Set<Turn>()
    const close = once(() => {
      clearTimeout(timer)
      for (const turn of turns) turn.end()
      forget(credential, person, count)
    })
    const timer = setTimeout(close, limits.openMs)
    return {
      close,
      async turn(signal) {
        if (!(await turnOf(person, signal))) return undefined
        const turn = newTurn(person, () => turns.delete(turn))
        turns.add(turn)
        return turn
      },
    }
  }

  function newTurn(person: Person, ended: () => void): Turn {
    let timer: NodeJS.Timeout | undefined
    const stopRunning = once(() => {
      person.running -= 1
      running -= 1
      startNext()
    })
    return {
      end() {
        clearTimeout(timer)
        ended()
        stopRunning()
      },
      yieldWhenSlow: () => void (timer ??= setTimeout(stopRunning, limits.slowMs)),
    }
  }

  /** False when it took too long, or the client has gone. */
  function turnOf(person: Person, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let stopWaiting = () => {}
      const settle = (hasTurn: boolean) => {
        stopWaiting()
        person.waiting.delete(start)
        resolve(hasTurn)
      }
      const start = () => settle(true)
      const giveUp = () => settle(false)
      if (signal.aborted) return giveUp()
      person.waiting.add(start)
      startNext()
      // Most start at once.
      if (!person.waiting.has(start)) return
      const timer = setTimeout(giveUp, limits.waitMs)
      signal.addEventListener('abort', giveUp)
      stopWaiting = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
      }
    })
  }

  function startNext(): void {
    const person = running < limits.running ? nextPerson() : undefined
    const [start] = person?.waiting ?? []
    if (!person || !start) return
    persons.delete(person.key)
    persons.set(person.key, person)
    person.running += 1
    running += 1
    start()
  }

  function nextPerson(): Person | undefined {
    let next: Person | undefined
    for (const person of persons.values()) {
      if (person.waiting.size === 0 || person.running >= limits.runningPerPerson) continue
      if (!next || person.running < next.running) next = person
    }
    return next
  }

  function forget(credential: string, person: Person, count: number): void {
    const open = (openPerCredential.get(credential) ?? 0) - count
    if (open > 0) openPerCredential.set(credential, open)
    else openPerCredential.delete(credential)
    person.open -= count
    if (person.open === 0) persons.delete(person.key)
  }

  return { openCalls }
}
