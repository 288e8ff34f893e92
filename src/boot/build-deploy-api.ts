/** The deploy-api of a process. */
import { createLineMatcher } from '../adapters/log-matching/index.ts'
import { createSourceThread } from '../adapters/source-thread/index.ts'
import { FAIR_QUEUES } from '../contracts/fair-queues.ts'
import { createLogReads } from '../cores/logs/index.ts'
import { createTurns } from '../cores/work/index.ts'
import { createDeployApi } from '../http/deploy-api.ts'
import { runIdentities } from '../trust/run-identity.ts'
import { offeredModels } from './maintenance-models.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'

export function buildDeployApi(shared: Shared): Running {
  const { config, dataKeys, hosted, limits, closing } = shared
  return asService(
    createDeployApi({
      ...shared.observation,
      ...shared.storage(),
      dataKeys,
      judge: shared.judge,
      maintenanceModels: offeredModels(config.MAINTENANCE_MODELS),
      runIdentities: runIdentities(dataKeys.keyFor('run-identity')),
      agentRunnerTokens: shared.runnerTokens,
      // Apart from that of checks: a slow expression of either holds up its own kind only.
      findLines: closing(createLineMatcher()).findLines,
      sourceSearches: createTurns(FAIR_QUEUES.sourceSearches),
      runLogReads: createLogReads(FAIR_QUEUES.runLogSearches),
      auth: shared.auth,
      hosted,
      workloadAudience: hosted ? undefined : config.SVC_WORKLOAD_AUDIENCE || undefined,
      sourceThread: closing(createSourceThread()),
      sourceStorageBytes: limits.sourceStorageBytes,
      logReads: createLogReads(),
      logLimits: limits.logLimits,
      gitHosts: shared.gitHosts,
      apiUrl: config.API_URL,
      appUrl: config.APP_URL,
      appEventsPerDay: limits.appEventsPerDay,
    }),
  )
}
