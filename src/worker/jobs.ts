/** The table of recurring jobs. */
import { sweepActivity, type SweepActivityDeps } from '../cores/activity/index.ts'
import { rescheduleChecks } from '../cores/checks/index.ts'
import type { Clock, Log, Storage } from '../cores/dependencies.ts'
import { checkDiskQuotas, enforceTenantLimits, type TenantDeps } from '../cores/databases/index.ts'
import { sweepDeploymentOutput } from '../cores/deployments/index.ts'
import { narrowUnusedGrants, sweepOauth } from '../cores/grants/index.ts'
import { sweepAssertions } from '../cores/identity-provider/index.ts'
import { sweepIdempotencyKeys } from '../cores/idempotency.ts'
import { sweepSignIns } from '../cores/identity/index.ts'
import { sweepLoads } from '../cores/loads/index.ts'
import { sweepLogs, type SweepLogsDeps } from '../cores/logs/index.ts'
import { sweepMaintenance } from '../cores/maintenance/index.ts'
import {
  foldDeliveryCounts,
  releaseStrandedMessages,
  sweepChatAuthorizations,
  sweepDeliveries,
  type SweepDeliveriesDeps,
} from '../cores/notifications/index.ts'
import { sweepInvitations } from '../cores/organizations/index.ts'
import { measureFixes } from '../cores/proposals/index.ts'
import { sweepRevisions, type SourceLimits } from '../cores/revisions/index.ts'
import { sweepPipelineRuns } from '../cores/pipelines/index.ts'
import { keepMonths } from '../cores/partitions.ts'
import { sealTrail, type SealDeps } from '../cores/trail/index.ts'
import { sweepThrottles } from '../cores/throttle.ts'
import { expireReservations, sweepTokenPools } from '../cores/token-pool/index.ts'
import type { Job } from './loop.ts'

export type JobDeps = SweepActivityDeps &
  SweepDeliveriesDeps &
  SweepLogsDeps &
  SourceLimits &
  Log & {
    readonly revokePublicConnect: () => Promise<void>
    /** Of clients that come in by an identity provider. */
    readonly refreshDocuments: Job['run']
  }

/** None gets the clock of the process: each has its own from the loop. */
type Row<Deps> = readonly [
  name: string,
  everySeconds: number,
  leaseSeconds: number,
  work: (deps: Omit<Deps, 'clock'> & { readonly clock: Clock }, stopping: AbortSignal) => Promise<unknown>,
]

const tableOf =
  <Deps>(rows: readonly Row<Deps>[]) =>
  (deps: Omit<Deps, 'clock'>): readonly Job[] =>
    rows.map(([name, everySeconds, leaseSeconds, work]) => ({
      name,
      everySeconds,
      leaseSeconds,
      run: async (stopping, clock) => void (await work({ ...deps, clock }, stopping)),
    }))

/** In seconds. */
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const jobTable = tableOf<JobDeps>([
  ['sweep', 10 * MINUTE, 5 * MINUTE, sweep],
  ['keep months', DAY, HOUR, keepMonths],
  ['sweep activity', DAY, HOUR, sweepActivity],
  ['sweep deliveries', DAY, HOUR, sweepDeliveries],
  ['sweep token pools', DAY, HOUR, sweepTokenPools],
  ['sweep logs', HOUR, HOUR, sweepLogs],
  ['sweep deployment output', DAY, HOUR, sweepDeploymentOutput],
  ['sweep revisions', HOUR, HOUR, sweepRevisions],
  ['sweep pipeline runs', DAY, HOUR, sweepPipelineRuns],
  ['measure fixes', 5 * MINUTE, 10 * MINUTE, measureFixes],
  ['sweep maintenance', DAY, HOUR, sweepMaintenance],
  ['narrow unused grants', HOUR, HOUR, narrowUnusedGrants],
  ['revoke public connect', HOUR, 10 * MINUTE, (deps) => deps.revokePublicConnect()],
  ['refresh client documents', HOUR, HOUR, (deps, stopping) => deps.refreshDocuments(stopping, deps.clock)],
])

/** Each in a loop of its own: these are to be in time, however long sweeping or measuring the disk takes. */
export const watchTable = tableOf<TenantDeps & SealDeps>([
  // One seal of an organization is for all that it did in a minute: a signature costs as much as hashing fifty rows.
  ['seal the trail', MINUTE, MINUTE, sealTrail],
  ['enforce tenant limits', 10, MINUTE, enforceTenantLimits],
  ['reschedule checks', MINUTE, MINUTE, rescheduleChecks],
  ['release stranded messages', MINUTE, MINUTE, releaseStrandedMessages],
  ['fold delivery counts', MINUTE, 5 * MINUTE, foldDeliveryCounts],
  ['expire token reservations', MINUTE, 5 * MINUTE, expireReservations],
  ['check disk quotas', MINUTE, 10 * MINUTE, checkDiskQuotas],
])

const SWEEPS = [
  sweepSignIns,
  sweepThrottles,
  sweepIdempotencyKeys,
  sweepOauth,
  sweepAssertions,
  sweepInvitations,
  sweepLoads,
  sweepChatAuthorizations,
]

/** What has expired. Nothing depends on it: expired rows are refused wherever they are read. */
export async function sweep(deps: Storage): Promise<void> {
  for (const run of SWEEPS) await run(deps)
}
