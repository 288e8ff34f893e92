/** Requests that wait for something to happen, without a connection to the database in the meantime. */
import type { Handle } from '../../../db/connect.ts'
import type { CountedRules } from '../../contracts/fair-queues.ts'
import { createTurns } from './turns.ts'
import { waitUntil, type Wait, type WaitingFor } from './wait.ts'

/**
 * Of this process: each costs it a timer and some queries. `key`: what it waits for, among all that its topic is about.
 * Whoever is refused comes back after as long as they wanted to wait, unless the rules say otherwise.
 */
export function createWaits(rules: CountedRules, topic?: WaitingFor['topic']) {
  const waits = createTurns(rules)
  return async (
    db: Handle,
    { orgId, key = '' }: { orgId: string; key?: string },
    wait: Wait,
    isOver: () => Promise<boolean>,
  ): Promise<void> => {
    if (wait.seconds === 0) return
    await waits.take([orgId], () => waitUntil(db, { topic, key }, wait, isOver), {
      retryAfterSeconds: rules.refusal?.retryAfterSeconds ?? wait.seconds,
    })
  }
}
