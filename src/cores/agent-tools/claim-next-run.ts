/** Hands the next run to an agent runner, with its identity. Whoever waits is told when there is one, and claims again. */
import type { ClaimedRun } from '../../contracts/agent-calls.ts'
import type { RunIdentities } from '../../trust/run-identity.ts'
import type { Log, Storage } from '../dependencies.ts'
import {
  claimRun,
  endUnconfigured,
  hasQueuedRun,
  renewLease,
  type Run,
  type RunKey,
  type WithMaintenanceModels,
} from '../maintenance/index.ts'
import { waitUntil } from '../work/index.ts'
import { requireRunning } from './require-run.ts'

export type IdentityDeps = Storage & Log & WithMaintenanceModels & { readonly runIdentities: RunIdentities }

const QUEUED = { topic: 'maintenance', key: '' } as const

type Claim = {
  readonly claimId: string
  readonly models: readonly string[]
  readonly except: readonly string[]
  readonly waitSeconds: number
  readonly signal: AbortSignal
}

export async function claimNextRun(
  deps: IdentityDeps,
  { claimId, waitSeconds, signal, ...capacity }: Claim,
): Promise<ClaimedRun | null> {
  await endUnconfigured(
    deps,
    deps.maintenanceModels.map(({ name }) => name),
  )
  const claimed = await claimRun(deps, { claimId, ...capacity })
  if (!claimed) {
    // Whoever waited has perhaps hung up meanwhile, and a claim in their name would be lost.
    const wait = { seconds: waitSeconds, signal }
    if (waitSeconds > 0) await waitUntil(deps.db, QUEUED, wait, () => hasQueuedRun(deps.db, capacity))
    return null
  }
  const { run, key, app, leaseSeconds } = claimed
  return {
    identity: await deps.runIdentities.sign({ ...key, ...scopeOf(run) }, deps.clock(), leaseSeconds),
    lease_seconds: leaseSeconds,
    execution_id: run.id,
    org_id: run.orgId,
    app_alias: app.alias,
    app_name: app.name,
    model: run.model,
    base_revision: run.baseRevisionId,
    started_at: run.startedAt!.toISOString(),
    tokens: run.tokens,
  }
}

export async function renewRun(
  deps: IdentityDeps,
  key: RunKey,
): Promise<{ identity: string; lease_seconds: number }> {
  const run = await requireRunning(deps, key)
  const seconds = await renewLease(deps.db, key)
  const identity = await deps.runIdentities.sign({ ...key, ...scopeOf(run) }, deps.clock(), seconds)
  return { identity, lease_seconds: seconds }
}

type Scope = Pick<Run, 'baseRevisionId' | 'model' | 'startedAt'>

const scopeOf = ({ baseRevisionId, model, startedAt }: Scope) => ({
  baseRevisionId,
  model,
  startedAt: startedAt!,
})
