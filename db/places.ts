/** So many at once, the others in line. Whoever waits is told when the database is away, and when nobody waits for it any more. */
import { currentCall, whenLate } from './current-call.ts'
import type { Gate } from './database-away.ts'

export type Places = ReturnType<typeof limitPlaces>

export function limitPlaces(max: number, gate: Gate | undefined) {
  const waiting = new Set<() => void>()
  let taken = 0
  return {
    async enter(): Promise<void> {
      if (taken < max) return void (taken += 1)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const refuse = (error: Error) => void (waiting.delete(resolve) && reject(error))
      const leaveGate = gate?.wait({ isWaiting: () => waiting.has(resolve), refuse })
      const forget = whenLate(currentCall(), refuse)
      waiting.add(resolve)
      await promise.finally(() => {
        leaveGate?.()
        forget()
      })
    },
    /** The place goes to the next in line. */
    leave(): void {
      const [next] = waiting
      if (!next) return void (taken -= 1)
      waiting.delete(next)
      next()
    },
  }
}
