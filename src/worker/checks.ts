/**
 * The loops of checks. Any number of workers run them on one database, all equal: what is due they claim by rows, so each
 * due check is run by one of them, and any of them may die at any moment.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createCheckRunner,
  expireCheckClaims,
  type CheckRunnerDeps,
  type CheckRunnerOptions,
} from '../cores/checks/index.ts'
import { createSignal, turnLoop } from './turn-loop.ts'

export type CheckOptions = CheckRunnerOptions & { readonly expireClaimsMs?: number }

/** How often a process polls; what was made due in it wakes it at once. */
const POLL_MS = 1_000
/** How long the first result waits for others, so that one commit serves many. */
const BATCH_WAIT_MS = 5
const EXPIRE_CLAIMS_MS = 10_000

export function startChecks(deps: CheckRunnerDeps, options: CheckOptions = {}): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const runner = createCheckRunner(deps, options)
  const signals = { due: createSignal(), finished: createSignal(), expire: createSignal() }
  const loops = [
    turnLoop(deps.log, 'checks: claim', stopping.signal, async () => {
      if (!runner.hasCapacity() || (await runner.claim()) === 0) await signals.due.wait(POLL_MS)
    }),
    turnLoop(deps.log, 'checks: settle', stopping.signal, async () => {
      await signals.finished.wait(POLL_MS, runner.nextResult())
      await sleep(BATCH_WAIT_MS)
      // A slot is free again: whatever waited for it may be claimed.
      if (await runner.settle()) signals.due.notify()
    }),
    turnLoop(deps.log, 'checks: expire claims', stopping.signal, async () => {
      await expireCheckClaims(deps)
      await signals.expire.wait(options.expireClaimsMs ?? EXPIRE_CLAIMS_MS)
    }),
  ]
  const onDue = () => signals.due.notify()
  subscribe('svc.check-due', onDue)

  return {
    async stop() {
      unsubscribe('svc.check-due', onDue)
      stopping.abort()
      for (const signal of Object.values(signals)) signal.notify()
      await Promise.all(loops)
      try {
        await runner.settle()
        // What still runs is run anew elsewhere: it has changed nothing yet.
        await runner.release()
      } catch (error) {
        deps.log.warn('checks stopped with results that could not be written', { error })
      }
    },
  }
}

/** Once through everything that is due now: for tests, and for whoever wants to know that nothing is left. */
export async function drainChecks(deps: CheckRunnerDeps, options: CheckRunnerOptions = {}): Promise<number> {
  const runner = createCheckRunner(deps, options)
  let runs = 0
  for (;;) {
    const claimed = await runner.claim()
    runs += claimed
    while (runner.hasInFlight()) {
      await runner.nextResult()
      await runner.settle()
    }
    if (claimed === 0) return runs
  }
}
