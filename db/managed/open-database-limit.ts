/** Limits how many databases are open at a time: each takes 80 to 200 MB. */
import { WireError } from '../wire/protocol-messages.ts'

export type Holder = {
  readonly open: boolean
  readonly idle: boolean
  readonly usedAt: number
  closeIdle(): Promise<void>
}

export type OpenDatabaseLimit = {
  /** Waits until another database may be open; the one that was idle the longest is closed for it. */
  acquire(holder: Holder, waitMs: number): Promise<void>
  release(holder: Holder): void
  /** A database has become idle and may be closed for one that waits. */
  check(): void
  /** Refuses all that wait. */
  end(): void
}

export function limitOpenDatabases(max: number): OpenDatabaseLimit {
  const open = new Set<Holder>()
  const closing = new Set<Holder>()
  const waiting = new Map<Holder, PromiseWithResolvers<void>>()

  function check(): void {
    for (const [holder, { resolve }] of waiting) {
      if (open.size >= max) break
      waiting.delete(holder)
      open.add(holder)
      resolve()
    }
    // One is closed for each that waits.
    const idle = [...open]
      .filter((holder) => holder.open && holder.idle && !closing.has(holder))
      .toSorted((a, b) => a.usedAt - b.usedAt)
    for (const holder of idle.slice(0, Math.max(0, waiting.size - closing.size))) {
      closing.add(holder)
      void holder.closeIdle().finally(() => {
        closing.delete(holder)
        check()
      })
    }
  }

  return {
    async acquire(holder, waitMs) {
      const turn = Promise.withResolvers<void>()
      waiting.set(holder, turn)
      const timer = setTimeout(() => {
        waiting.delete(holder)
        turn.reject(new WireError('57P03', 'too many databases are in use at the moment'))
      }, waitMs)
      check()
      await turn.promise.finally(() => clearTimeout(timer))
    },
    release(holder) {
      open.delete(holder)
      check()
    },
    check,
    end() {
      const closed = new WireError('57P01', 'the database was closed', { fatal: true })
      for (const { reject } of waiting.values()) reject(closed)
      waiting.clear()
    },
  }
}
