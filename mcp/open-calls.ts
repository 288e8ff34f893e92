/**
 * Which calls this process works on. A credential (a grant, or an API token) has a limited number of calls open; when each of
 * them runs, the fair queue says, by whose it is.
 */
import { FAIR_QUEUES, type CountedRules } from '../src/contracts/fair-queues.ts'
import { createTurns } from '../src/cores/work/turns.ts'
import { once } from './once.ts'

/** decisions, section 4: calls one credential may have open, running ones included. */
export const OPEN_PER_CREDENTIAL = 16

/** When a call lets the next one start, if it said that it would. */
const SLOW_MS = 500

/** Longer than any call takes. One whose end nobody reported must not count for ever. */
const OPEN_MS = 60_000

/** The calls of one request: one, or those of a batch. */
export type OpenCalls = {
  /** Resolves when one of them may start, and throws when it may not. */
  turn(signal: AbortSignal): Promise<CallTurn>
  /** Ends the turns that are left, too. */
  readonly close: () => void
}

export type CallTurn = {
  end(): void
  /** For a call that, if it takes long, waits for a data source or a model rather than for this process. */
  yieldWhenSlow(): void
}

type Limits = {
  readonly rules?: CountedRules
  readonly slowMs?: number | undefined
  readonly openMs?: number
}

export function createOpenCalls({
  rules = FAIR_QUEUES.mcpCalls,
  slowMs = SLOW_MS,
  openMs = OPEN_MS,
}: Limits = {}) {
  const turns = createTurns(rules)
  const openOf = new Map<string, number>()

  const change = (credential: string, by: number): void => {
    const open = (openOf.get(credential) ?? 0) + by
    if (open > 0) openOf.set(credential, open)
    else openOf.delete(credential)
  }

  const takeTurn = (
    person: string,
    signal: AbortSignal,
    ended: (turn: CallTurn) => void,
  ): Promise<CallTurn> =>
    new Promise((resolve, reject) => {
      const run = () =>
        new Promise<void>((stopRunning) => {
          let timer: NodeJS.Timeout | undefined
          const turn: CallTurn = {
            end() {
              clearTimeout(timer)
              ended(turn)
              stopRunning()
            },
            yieldWhenSlow: () => void (timer ??= setTimeout(stopRunning, slowMs)),
          }
          resolve(turn)
        })
      turns.take([person], run, { signal }).catch(reject)
    })

  /** Undefined when the credential may not have so many more. */
  return function openCalls(
    { credential, person }: { credential: string; person: string },
    count: number,
  ): OpenCalls | undefined {
    if ((openOf.get(credential) ?? 0) + count > OPEN_PER_CREDENTIAL) return undefined
    change(credential, count)
    const left = new Set<CallTurn>()
    const close = once(() => {
      clearTimeout(timer)
      for (const turn of left) turn.end()
      change(credential, -count)
    })
    const timer = setTimeout(close, openMs)
    return {
      close,
      async turn(signal) {
        const turn = await takeTurn(person, signal, (ended) => left.delete(ended))
        left.add(turn)
        return turn
      },
    }
  }
}
