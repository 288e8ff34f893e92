/** What one process grants those who read logs: whoever waits is woken, and no organization takes all there is. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FAIR_QUEUES, type QueueRules } from '../../contracts/fair-queues.ts'
import { createTurns } from '../work/index.ts'
import type { LogApp } from './log-record.ts'

export type LogReads = ReturnType<typeof createLogReads>

export function createLogReads(searches: QueueRules = FAIR_QUEUES.logSearches) {
  return {
    arrivals: createArrivals(),
    waits: createTurns(FAIR_QUEUES.logWaits),
    searches: createTurns(searches),
  }
}

/** Between two looks of whoever waits, in milliseconds. A busy app is sent lines a hundred times a second. */
const LOOKS = { least: 500, most: 1_000 }

/** Lines that arrive in another process wake nobody here: whoever waits looks again now and then. */
export function createArrivals({ least, most } = LOOKS) {
  const waiting = new Map<string, Set<() => void>>()
  const keyOf = ({ orgId, id: appId }: LogApp) => `${orgId} ${appId}`
  return {
    notify(app: LogApp): void {
      for (const wake of waiting.get(keyOf(app)) ?? []) wake()
    },
    /** Until lines may have arrived. It takes a while in any case, so what arrives meanwhile is one look. */
    async wait(app: LogApp): Promise<void> {
      const key = keyOf(app)
      const others = waiting.get(key) ?? new Set()
      waiting.set(key, others)
      const woken = new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          others.delete(wake)
          if (others.size === 0) waiting.delete(key)
          resolve()
        }
        const timer = setTimeout(wake, most)
        others.add(wake)
      })
      await Promise.all([woken, sleep(least)])
    },
  }
}
