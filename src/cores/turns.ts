/**
 * Turns at something that only a few may use at a time. Of those who wait, one of the organization with the fewest running
 * is next, and among those the one whose last turn is longest ago, so one that asks a lot delays itself more than others.
 */
import { ServiceError } from '../contracts/errors.ts'

export type Turns = {
  /** `signal`: whoever hung up waits no longer. Work that has begun is not stopped. */
  take<T>(orgId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

type TurnLimits = {
  readonly total: number
  readonly perOrganization: number
  /** Left out: everybody waits for as long as it takes. */
  readonly waiting?: {
    /** Further ones are refused at once. */
    readonly perOrganization: number
    readonly ms: number
    readonly refusal: string
  }
}

export function createTurns({ total, perOrganization, waiting: limit }: TurnLimits): Turns {
  const running = new Map<string, number>()
  /** By organization, in the order of their last turn or of their arrival: a long line of one costs the others nothing. */
  const waiting = new Map<string, Set<() => void>>()
  let count = 0

  const runningOf = (orgId: string): number => running.get(orgId) ?? 0
  const hasTurn = (orgId: string): boolean => count < total && runningOf(orgId) < perOrganization
  const refused = () => new ServiceError('RATE_LIMITED', limit?.refusal, { retryAfterSeconds: 2 })

  function enter(orgId: string): void {
    count++
    running.set(orgId, runningOf(orgId) + 1)
  }

  function leave(orgId: string): void {
    count--
    const left = runningOf(orgId) - 1
    if (left === 0) running.delete(orgId)
    else running.set(orgId, left)
    startNext()
  }

  function startNext(): void {
    let next: string | undefined
    for (const orgId of waiting.keys()) {
      if (!hasTurn(orgId)) continue
      if (next === undefined || runningOf(orgId) < runningOf(next)) next = orgId
    }
    if (next === undefined) return
    const line = waiting.get(next)!
    waiting.delete(next)
    waiting.set(next, line)
    enter(next)
    const [start] = line
    start!()
  }

  function leaveLine(orgId: string, start: () => void): void {
    const line = waiting.get(orgId)
    line?.delete(start)
    if (line?.size === 0) waiting.delete(orgId)
  }

  function wait(orgId: string, signal: AbortSignal | undefined): Promise<void> {
    const line = waiting.get(orgId) ?? new Set()
    if (limit && line.size >= limit.perOrganization) return Promise.reject(refused())
    waiting.set(orgId, line)
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        leaveLine(orgId, start)
      }
      const start = () => {
        end()
        resolve()
      }
      const giveUp = () => {
        end()
        reject(refused())
      }
      const timer = limit && setTimeout(giveUp, limit.ms)
      signal?.addEventListener('abort', giveUp)
      line.add(start)
    })
  }

  return {
    async take(orgId, work, signal) {
      if (signal?.aborted) throw refused()
      if (hasTurn(orgId)) enter(orgId)
      else await wait(orgId, signal)
      try {
        return await work()
      } finally {
        leave(orgId)
      }
    },
  }
}
