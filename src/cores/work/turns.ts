/** Turns at something that only a few may use at a time: work that starts when the fair queue says so. */
import { ServiceError } from '../../contracts/errors.ts'
import type { CountedRules, QueueRules } from '../../contracts/fair-queues.ts'
import { createFairQueue, type Turn } from './fair-queue.ts'

export type Turns = {
  take<T>(keys: readonly string[], work: () => Promise<T>, options?: TurnOptions): Promise<T>
  /** What is remembered: nothing once all is done. */
  readonly size: () => number
}

export type TurnOptions = {
  /** Whoever hung up waits no longer. Work that has begun is not stopped. */
  readonly signal?: AbortSignal | undefined
  readonly retryAfterSeconds?: number
}

type Waiting = { readonly start: (turn: Turn<unknown>) => void; readonly refuse: () => void }

const RETRY_AFTER_SECONDS = 2

export function createTurns(rules: CountedRules): Turns
export function createTurns(rules: QueueRules, now: () => number): Turns
export function createTurns(rules: QueueRules, now = () => 0): Turns {
  const queue = createFairQueue<Waiting | undefined>(rules, {
    refuse: (one) => one?.refuse(),
    now,
  })

  function wait(keys: readonly string[], { signal, retryAfterSeconds }: TurnOptions): Promise<Turn<unknown>> {
    const { refusal } = rules
    const refused = (message = refusal?.full) =>
      new ServiceError('RATE_LIMITED', message, {
        retryAfterSeconds: retryAfterSeconds ?? refusal?.retryAfterSeconds ?? RETRY_AFTER_SECONDS,
      })
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        leave?.()
      }
      const start = (turn: Turn<unknown>) => {
        end()
        resolve(turn)
      }
      const refuse = (message?: string) => {
        end()
        reject(refused(message))
      }
      const giveUp = () => refuse()
      const leave = signal?.aborted ? undefined : queue.add(keys, { start, refuse: giveUp })
      const timer =
        leave && rules.waitMs !== undefined
          ? setTimeout(() => refuse(rules.refusal?.late), rules.waitMs)
          : undefined
      if (leave) signal?.addEventListener('abort', giveUp)
      else giveUp()
    })
  }

  function startNext(): void {
    for (let turn = queue.take(); turn; turn = queue.take()) turn.value?.start(turn)
  }

  return {
    async take(keys, work, options = {}) {
      const turn =
        (options.signal?.aborted ? undefined : queue.start(keys, undefined)) ?? (await wait(keys, options))
      try {
        return await work()
      } finally {
        turn.end()
        startNext()
      }
    },
    size: () => queue.size(),
  }
}
