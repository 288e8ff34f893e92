/**
 * So many at once, the others in line. Whoever waits is told when the database is away, and when nobody waits for it any more:
 * where `waitMs` is given, after so long.
 */
import { currentCall, whenLate } from './current-call.ts'
import type { Gate } from './database-away.ts'
import { problem } from './managed/problem.ts'

export type Places = ReturnType<typeof limitPlaces>

export function limitPlaces(max: number, gate?: Gate, waitMs?: number) {
  const waiting = new Set<() => void>()
  const watching = new Set<() => void>()
  let taken = 0
  return {
    async enter(): Promise<void> {
      if (taken < max) return void (taken += 1)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const refuse = (error: Error) => void (waiting.delete(resolve) && reject(error))
      const leaveGate = gate?.wait({ isWaiting: () => waiting.has(resolve), refuse })
      const forget = waitMs === undefined ? whenLate(currentCall(), refuse) : afterMs(waitMs, refuse)
      waiting.add(resolve)
      await promise.finally(() => {
        leaveGate?.()
        forget()
      })
    },
    /** The place goes to the next in line. */
    leave(): void {
      const [next] = waiting
      if (next) {
        waiting.delete(next)
        return next()
      }
      taken -= 1
      if (taken === 0) for (const resolve of watching) resolve()
    },
    /** Until nobody has one. */
    empty: (): Promise<void> =>
      taken === 0 ? Promise.resolve() : new Promise((resolve) => watching.add(resolve)),
  }
}

function afterMs(ms: number, refuse: (error: Error) => void): () => void {
  const late = () => refuse(problem('ETIMEDOUT', 'All connections to the database are in use'))
  const timer = setTimeout(late, ms)
  return () => clearTimeout(timer)
}
