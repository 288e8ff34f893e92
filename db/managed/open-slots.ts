/** Bounds how many databases are open at a time: each takes about 165 MB. */
import { WireFailure } from '../wire/messages.ts'

export type Holder = {
  readonly open: boolean
  readonly idle: boolean
  readonly usedAt: number
  closeIdle(): Promise<void>
}

export type OpenSlots = {
  /** Waits until one is free; the database that was idle the longest is closed for it. */
  take(holder: Holder, waitMs: number): Promise<void>
  free(holder: Holder): void
  /** Something has become idle and could be closed for somebody who waits. */
  look(): void
  /** Whoever waits is sent away. */
  end(): void
}

export function createOpenSlots(max: number): OpenSlots {
  const taken = new Set<Holder>()
  const closing = new Set<Holder>()
  let waiting: { holder: Holder; call: (failure?: WireFailure) => void }[] = []

  function look(): void {
    while (waiting.length > 0 && taken.size < max) {
      const next = waiting.shift()
      if (!next) break
      taken.add(next.holder)
      next.call()
    }
    // One is closed for each that waits.
    const idle = [...taken]
      .filter((holder) => holder.open && holder.idle && !closing.has(holder))
      .toSorted((a, b) => a.usedAt - b.usedAt)
    for (const holder of idle.slice(0, Math.max(0, waiting.length - closing.size))) {
      closing.add(holder)
      void holder.closeIdle().finally(() => {
        closing.delete(holder)
        look()
      })
    }
  }

  return {
    take: (holder, waitMs) =>
      new Promise((resolve, reject) => {
        const leave = (failure: WireFailure) => {
          waiting = waiting.filter((other) => other !== waiter)
          reject(failure)
        }
        const timer = setTimeout(
          () => leave(new WireFailure('57P03', 'too many databases are in use at the moment')),
          waitMs,
        )
        const waiter = {
          holder,
          call(failure?: WireFailure) {
            clearTimeout(timer)
            if (failure) reject(failure)
            else resolve()
          },
        }
        waiting.push(waiter)
        look()
      }),
    free(holder) {
      taken.delete(holder)
      look()
    },
    look,
    end() {
      const closed = new WireFailure('57P01', 'the database was closed', { fatal: true })
      for (const { call } of waiting.splice(0)) call(closed)
    },
  }
}
