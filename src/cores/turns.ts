/**
 * Turns at something that only a few may use at a time. Of those who wait, one of the organization with the fewest running
 * is next, so one that asks a lot delays itself more than others.
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

type Waiting = { readonly orgId: string; readonly start: () => void }

export function createTurns({ total, perOrganization, waiting: limit }: TurnLimits): Turns {
  const running = new Map<string, number>()
  const waiting = new Set<Waiting>()
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
    let next: Waiting | undefined
    for (const one of waiting) {
      if (!hasTurn(one.orgId)) continue
      if (next === undefined || runningOf(one.orgId) < runningOf(next.orgId)) next = one
    }
    if (next === undefined) return
    enter(next.orgId)
    next.start()
  }

  function wait(orgId: string, signal: AbortSignal | undefined): Promise<void> {
    const others = [...waiting].filter((one) => one.orgId === orgId).length
    if (limit && others >= limit.perOrganization) return Promise.reject(refused())
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        waiting.delete(one)
      }
      const one = {
        orgId,
        start() {
          end()
          resolve()
        },
      }
      const giveUp = () => {
        end()
        reject(refused())
      }
      const timer = limit && setTimeout(giveUp, limit.ms)
      signal?.addEventListener('abort', giveUp)
      waiting.add(one)
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
