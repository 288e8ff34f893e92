/**
 * The loops of checks. Any number of workers run them on one database, all equal: what is due they claim by rows, so each
 * due check is run by one of them, and any of them may die at any moment.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { notify } from '../../db/listen.ts'
import {
  createCheckRunner,
  expireCheckClaims,
  type CheckRunnerDeps,
  type CheckRunnerOptions,
} from '../cores/checks/index.ts'
import { startLoops, type Loops } from '../cores/work/index.ts'
import { nextDue } from './next-due.ts'

export type CheckOptions = Omit<CheckRunnerOptions, 'onResult'> & { readonly expireClaimsMs?: number }

/** How long the first result waits for others, so that one commit serves many. */
const BATCH_WAIT_MS = 5

export function startChecks(
  deps: CheckRunnerDeps,
  { expireClaimsMs, ...options }: CheckOptions = {},
): { stop(): Promise<void> } {
  const runner = createCheckRunner(deps, { ...options, onResult: () => loops.wake(SETTLE) })
  const loops: Loops = startLoops(deps, [
    {
      name: CLAIM,
      topics: ['checks'],
      due: () => nextDue(deps, 'check'),
      turn: async () => (runner.hasCapacity() && (await runner.claim()) > 0 ? 'again' : null),
    },
    {
      name: SETTLE,
      async turn() {
        if (runner.hasInFlight()) await sleep(BATCH_WAIT_MS)
        // A slot is free again: whatever waited for it may be claimed.
        if (await runner.settle()) loops.wake(CLAIM)
        return null
      },
    },
    {
      name: 'checks: expire claims',
      ...(expireClaimsMs !== undefined && { netMs: expireClaimsMs }),
      due: () => nextDue(deps, 'checkLease'),
      async turn() {
        await expireCheckClaims(deps)
        loops.wake(CLAIM)
        return null
      },
    },
  ])

  return {
    async stop() {
      await loops.stop()
      try {
        await runner.settle()
        // What still runs is run anew elsewhere: it has changed nothing yet.
        await runner.release()
        await notify(deps.db, 'checks')
      } catch (error) {
        deps.log.warn('checks stopped with results that could not be written', { error })
      }
    },
  }
}

const CLAIM = 'checks: claim'
const SETTLE = 'checks: settle'
