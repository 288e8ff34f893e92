/** Once through everything that can be done now, as the worker's loops do it. */
import { randomUUID } from 'node:crypto'
import {
  createCheckRunner,
  type CheckRunnerDeps,
  type CheckRunnerOptions,
} from '../../src/cores/checks/index.ts'
import {
  createSender,
  expireLeases,
  queueRecoveries,
  shipAndFanOut,
} from '../../src/cores/notifications/index.ts'
import type { NotificationDeps } from '../../src/worker/notifications.ts'

export async function drainNotifications(deps: NotificationDeps): Promise<void> {
  const sender = createSender(deps, { worker: randomUUID() })
  await expireLeases(deps)
  for (;;) {
    while (await shipAndFanOut(deps));
    while (await queueRecoveries(deps));
    const { due } = await sender.claim()
    while ((await sender.flush()) || sender.hasInFlight()) {
      await (sender.hasInFlight() && sender.nextOutcome())
    }
    await sender.followUp()
    if (due === 0) return
  }
}

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
