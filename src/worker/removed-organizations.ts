/** The loop that deletes what removed organizations have left. It runs in the api-gateway, which alone reaches managed databases. */
import { emptyRemovedOrganizations, type EmptyDeps } from '../cores/receipts/index.ts'
import { startLoop, type LoopDeps } from './loop.ts'

const EVERY_SECONDS = 30
const LEASE_SECONDS = 10 * 60

export const startRemovedOrganizations = (deps: EmptyDeps & LoopDeps): { stop(): Promise<void> } =>
  startLoop(deps, [
    {
      name: 'empty removed organizations',
      everySeconds: EVERY_SECONDS,
      leaseSeconds: LEASE_SECONDS,
      run: (stopping, clock) => emptyRemovedOrganizations({ ...deps, clock }, stopping),
    },
  ])
