/** What one process grants those who read logs: whoever waits is woken, and no organization takes all there is. */
import { ServiceError } from '../../contracts/errors.ts'
import { LOG_SEARCHES_PER_ORGANIZATION, LOG_WAIT } from '../../contracts/limits.ts'
import type { LogApp } from './log-record.ts'

export type LogReads = ReturnType<typeof createLogReads>

export function createLogReads() {
  return {
    arrivals: createArrivals(),
    waits: perOrganization(
      LOG_WAIT.perOrganization,
      'Too many requests of your organization wait for log lines',
    ),
    searches: perOrganization(
      LOG_SEARCHES_PER_ORGANIZATION,
      'Your organization searches too many logs at once',
    ),
  }
}

/** Lines that arrive in another process wake nobody here: whoever waits looks again now and then. */
function createArrivals() {
  const waiting = new Map<string, Set<() => void>>()
  const keyOf = ({ orgId, id: appId }: LogApp) => `${orgId} ${appId}`
  return {
    notify(app: LogApp): void {
      for (const wake of waiting.get(keyOf(app)) ?? []) wake()
    },
    wait(app: LogApp, ms: number): Promise<void> {
      const key = keyOf(app)
      const others = waiting.get(key) ?? new Set()
      waiting.set(key, others)
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          others.delete(wake)
          if (others.size === 0) waiting.delete(key)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        others.add(wake)
      })
    },
  }
}

function perOrganization(most: number, message: string) {
  const running = new Map<string, number>()
  return async <T>(orgId: string, work: () => Promise<T>): Promise<T> => {
    const before = running.get(orgId) ?? 0
    if (before >= most) throw new ServiceError('RATE_LIMITED', message, { retryAfterSeconds: 2 })
    running.set(orgId, before + 1)
    try {
      return await work()
    } finally {
      const left = running.get(orgId)! - 1
      if (left === 0) running.delete(orgId)
      else running.set(orgId, left)
    }
  }
}
