/** The loop of deployments: fails those that nobody claims, and those whose runner is not heard from any more. */
import type { Log, Storage } from '../cores/dependencies.ts'
import { expireDeployments } from '../cores/deployments/index.ts'
import { startWatchLoop } from './watch-loop.ts'

const POLL_MS = 5_000

export function startDeployments(deps: Storage & Log): { stop(): Promise<void> } {
  return startWatchLoop(deps, {
    name: 'deployments',
    everyMs: POLL_MS,
    steps: [({ clock, watch }, stopping) => expireDeployments({ ...deps, clock }, watch, stopping)],
  })
}
