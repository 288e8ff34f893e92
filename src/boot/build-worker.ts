/** The worker of a process. */
import { createLineMatcher } from '../adapters/log-matching/index.ts'
import { httpProbes } from '../adapters/outbound/http-probe.ts'
import type { CheckRunnerDeps } from '../cores/checks/index.ts'
import type { TenantDeps } from '../cores/databases/index.ts'
import { readMessageQueue } from '../cores/notifications/index.ts'
import type { PullRequestDeps } from '../cores/remotes/index.ts'
import { startChecks } from '../worker/checks.ts'
import { jobTable, watchTable, type JobDeps } from '../worker/jobs.ts'
import { startLoop, startLoopForEach, type LoopDeps } from '../worker/loop.ts'
import { startPullRequests } from '../worker/pull-requests.ts'
import { startNotifications, type NotificationDeps } from '../worker/notifications.ts'
import { startTrail } from '../worker/trail.ts'
import { startWatchLoops } from '../worker/watch-loop.ts'
import { watchLoops } from '../worker/watch-table.ts'
import { openTenantServer, publicConnectRevoker } from './managed-databases.ts'
import type { Running } from './running.ts'
import type { Shared } from './shared.ts'
import { VERSION } from './version.ts'

type WorkerDeps = LoopDeps & JobDeps & TenantDeps & NotificationDeps & CheckRunnerDeps & PullRequestDeps

export function buildWorker(shared: Shared): Running {
  const { config, overrides, connection, limits, closing } = shared
  const { log, metrics } = shared.observation
  const storage = shared.storage()
  const tenantServer = openTenantServer(config)
  metrics?.observeQueue(() => readMessageQueue(storage))
  const deps: WorkerDeps = {
    ...storage,
    log,
    metrics,
    channels: overrides.channels ?? shared.channelAdapters.channels,
    dataKeys: shared.dataKeys,
    gitHosts: shared.gitHosts,
    probeHttp:
      overrides.probeHttp ??
      closing(httpProbes({ allowNets: config.CHECKS_ALLOW_NETS, userAgent: `svc/${VERSION}` })).probe,
    matchLines: closing(createLineMatcher()).matchLines,
    // Without a way to the agent-runner nothing can be judged here.
    judge: overrides.judge || shared.runs('agent-runner') || config.AGENT_RUNNER_URL ? shared.judge : null,
    appUrl: config.APP_URL,
    siteUrl: config.SITE_URL,
    observeAttempt: metrics && ((channel, outcome) => metrics.observeAttempt(channel, outcome)),
    trailRoots: shared.trailRoots,
    answers: shared.answers,
    activityDays: limits.activityDays,
    deliveryDays: limits.deliveryDays,
    sourceStorageBytes: limits.sourceStorageBytes,
    partitions: connection.kind === 'postgres',
    revokePublicConnect: publicConnectRevoker(config, connection.db, log),
    refreshDocuments: async (stopping, clock) => {
      if (!config.ENTERPRISE_AUTH || !config.OAUTH_CIMD) return
      const { refreshDocuments } = await import('../../oauth/refresh-documents.ts')
      await refreshDocuments({ ...storage, clock, guardedFetch: shared.guardedFetch, log }, stopping)
    },
    tenantServer: tenantServer && closing(tenantServer),
    tenantLimits: limits.tenantLimits,
  }
  return {
    startJobs() {
      const loops = [
        startLoop(deps, jobTable(deps)),
        startLoopForEach(deps, watchTable(deps)),
        startNotifications(deps),
        startChecks(deps),
        startPullRequests(deps),
        startTrail(deps),
        startWatchLoops(deps, watchLoops(deps)),
      ]
      return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) }
    },
  }
}
