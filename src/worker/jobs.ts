/** The table of recurring jobs. */
import { sweepActivity, type SweepActivityDeps } from '../cores/activity/index.ts'
import { rescheduleChecks } from '../cores/checks/index.ts'
import type { Log, Storage } from '../cores/dependencies.ts'
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
type Timeless<T> = Omit<T, 'clock'>

/** In seconds. */
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const jobTable = (deps: Timeless<JobDeps>): readonly Job[] => [
  {
    name: 'sweep',
    everySeconds: 10 * MINUTE,
    leaseSeconds: 5 * MINUTE,
    run: (_, clock) => sweep({ ...deps, clock }),
  },
  {
    name: 'keep months',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (stopping) => keepMonths(deps, stopping),
  },
  {
    name: 'sweep activity',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (stopping, clock) => sweepActivity({ ...deps, clock }, stopping),
  },
  {
    name: 'sweep deliveries',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (_, clock) => sweepDeliveries({ ...deps, clock }),
  },
  {
    name: 'sweep token pools',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (_, clock) => sweepTokenPools({ ...deps, clock }),
  },
  {
    name: 'sweep logs',
    everySeconds: HOUR,
    leaseSeconds: HOUR,
    run: (stopping, clock) => sweepLogs({ ...deps, clock }, stopping),
  },
  {
    name: 'sweep deployment output',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (_, clock) => sweepDeploymentOutput({ ...deps, clock }),
  },
  {
    name: 'sweep revisions',
    everySeconds: HOUR,
    leaseSeconds: HOUR,
    run: (stopping, clock) => sweepRevisions({ ...deps, clock }, stopping),
  },
  {
    name: 'sweep pipeline runs',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (_, clock) => sweepPipelineRuns({ ...deps, clock }),
  },
  {
    name: 'measure fixes',
    everySeconds: 5 * MINUTE,
    leaseSeconds: 10 * MINUTE,
    run: (stopping, clock) => measureFixes({ ...deps, clock }, stopping),
  },
  {
    name: 'sweep maintenance',
    everySeconds: DAY,
    leaseSeconds: HOUR,
    run: (_, clock) => sweepMaintenance({ ...deps, clock }),
  },
  {
    name: 'narrow unused grants',
    everySeconds: HOUR,
    leaseSeconds: HOUR,
    run: (stopping, clock) => narrowUnusedGrants({ ...deps, clock }, stopping),
  },
  {
    name: 'revoke public connect',
    everySeconds: HOUR,
    leaseSeconds: 10 * MINUTE,
    run: deps.revokePublicConnect,
  },
  {
    name: 'refresh client documents',
    everySeconds: HOUR,
    leaseSeconds: HOUR,
    run: deps.refreshDocuments,
  },
]

/** Each in a loop of its own: these are to be in time, however long sweeping or measuring the disk takes. */
export const watchTable = (deps: Timeless<TenantDeps & SealDeps>): readonly Job[] => [
  {
    // One seal of an organization is for all that it did in a minute: a signature costs as much as hashing fifty rows.
    name: 'seal the trail',
    everySeconds: MINUTE,
    leaseSeconds: MINUTE,
    run: async (stopping, clock) => void (await sealTrail({ ...deps, clock }, stopping)),
  },
  {
    name: 'enforce tenant limits',
    everySeconds: 10,
    leaseSeconds: MINUTE,
    run: (_, clock) => enforceTenantLimits({ ...deps, clock }),
  },
  {
    name: 'reschedule checks',
    everySeconds: MINUTE,
    leaseSeconds: MINUTE,
    run: () => rescheduleChecks(deps),
  },
  {
    name: 'release stranded messages',
    everySeconds: MINUTE,
    leaseSeconds: MINUTE,
    run: (_, clock) => releaseStrandedMessages({ ...deps, clock }),
  },
  {
    name: 'fold delivery counts',
    everySeconds: MINUTE,
    leaseSeconds: 5 * MINUTE,
    run: () => foldDeliveryCounts(deps),
  },
  {
    name: 'expire token reservations',
    everySeconds: MINUTE,
    leaseSeconds: 5 * MINUTE,
    run: () => expireReservations(deps),
  },
  {
    name: 'check disk quotas',
    everySeconds: MINUTE,
    leaseSeconds: 10 * MINUTE,
    run: (_, clock) => checkDiskQuotas({ ...deps, clock }),
  },
]

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
