/**
 * Loads the sample app in one transaction and a dozen statements: it is part of the first start, which people wait for.
 * Nothing of it is run: the http check and the pipeline are off, because nothing would answer.
 */
import type { Transaction } from '../../db/connect.ts'
import {
  appBlobs,
  appHeads,
  checkRuns,
  checks,
  deploymentOutput,
  deployments,
  pipelineRuns,
  pipelines,
  revisions,
  sourceBlobs,
  sourceStorage,
} from '../../db/schema.ts'
import { makeId } from '../contracts/ids.ts'
import type { Principal } from '../contracts/operation.ts'
import { createApp, findApp } from '../cores/apps/index.ts'
import type { Storage } from '../cores/dependencies.ts'
import { storeLines } from '../cores/logs/index.ts'
import { sourceTree } from '../cores/revisions/index.ts'
import { withTransaction } from '../cores/transaction.ts'
import {
  CHECK_HOURS,
  CHECK_RUNS,
  FAILED_NIGHT,
  NIGHT_HOUR,
  NIGHTS,
  OUTPUTS,
  readSampleSource,
  SAMPLE_APP,
  sampleTimes,
  type SampleFile,
} from './sample-app.ts'
import { sampleLogs } from './sample-logs.ts'

type Key = { readonly orgId: string; readonly appId: string }
type Times = ReturnType<typeof sampleTimes>
/** With them the week is written: where, by whom, and when. */
type Sample = { readonly tx: Transaction; readonly key: Key; readonly author: string; readonly times: Times }

/** The first lines of a new app: there is nothing that they could exceed. */
const NO_LIMITS = { linesPerMinute: 1_000_000, bytesPerApp: Number.MAX_SAFE_INTEGER }

export async function loadSampleApp({ db, clock }: Storage, principal: Principal): Promise<void> {
  const orgId = principal.orgId!
  const now = clock()
  const times = sampleTimes(now)
  await withTransaction(db, async (tx) => {
    // All of it or nothing, so it is whole; or its owner has made one with this name.
    if (await findApp(tx, orgId, SAMPLE_APP.alias)) return
    const { id: appId } = await createApp({ db: tx, clock })(principal, SAMPLE_APP)
    const sample: Sample = { tx, key: { orgId, appId }, author: principal.userName, times }
    const { before, after } = readSampleSource()
    const [first, second] = await insertSource(sample, before, after)
    await insertDeployments(sample, first, second)
    await insertChecks(sample)
    await insertPipeline(sample)
    const records = sampleLogs(now, times.brokenDeployment)
    await storeLines({ db: tx, clock, logLimits: NO_LIMITS }, { orgId, id: appId }, 0, () => ({
      records,
      rejected: 0,
    }))
  })
}

async function insertSource(
  { tx, key, author, times }: Sample,
  before: readonly SampleFile[],
  after: readonly SampleFile[],
): Promise<readonly [string, string]> {
  const files = [...new Map([...before, ...after].map((file) => [file.sha256, file])).values()]
  const sizes = new Map(files.map(({ sha256, content }) => [sha256, content.length]))
  const rows = [
    { tree: sourceTree(before, sizes), at: times.firstDeployment },
    { tree: sourceTree(after, sizes), at: times.failedDeployment },
  ].map(({ tree, at }) => ({
    ...key,
    id: makeId('rev', at.getTime()),
    treeSha256: tree.sha256,
    manifest: tree.manifest,
    files: tree.manifest.length,
    bytes: tree.bytes,
    manifestBytes: Buffer.byteLength(JSON.stringify(tree.manifest)),
    pushedById: null,
    pushedByName: author,
    pushedAt: at,
  }))
  const { orgId } = key
  await tx
    .insert(sourceBlobs)
    .values(files.map(({ sha256, content }) => ({ orgId, sha256, content })))
    .onConflictDoNothing()
  await tx
    .insert(appBlobs)
    .values(
      files.map(({ sha256, content }) => ({ ...key, sha256, bytes: content.length, unnamedSince: null })),
    )
  await tx.insert(revisions).values(rows)
  const [first, second] = rows.map(({ id }) => id) as [string, string]
  await tx.insert(appHeads).values({ ...key, revisionId: second, setAt: times.failedDeployment })
  const bytes = [...sizes.values(), ...rows.map(({ manifestBytes }) => manifestBytes)]
  await tx
    .insert(sourceStorage)
    .values({ orgId, bytes: bytes.reduce((sum, size) => sum + size, 0) })
    .onConflictDoNothing()
  return [first, second]
}

async function insertDeployments({ tx, key, author, times }: Sample, first: string, second: string) {
  const made = [
    { revisionId: first, at: times.firstDeployment, isFine: true },
    { revisionId: second, at: times.failedDeployment, isFine: false },
    { revisionId: second, at: times.brokenDeployment, isFine: true },
  ].map(({ revisionId, at, isFine }, index) => ({
    ...key,
    id: makeId('dep', at.getTime()),
    revisionId,
    fence: index + 1,
    state: isFine ? ('succeeded' as const) : ('failed' as const),
    code: isFine ? null : ('BUILD_FAILED' as const),
    exitCode: isFine ? 0 : 5,
    runner: 'web-1',
    requestedBy: author,
    requestedAt: at,
    startedAt: at,
    endedAt: times.later(at, 1),
    releasedAt: times.later(at, 1),
    text: isFine ? OUTPUTS.succeeded : OUTPUTS.failed,
  }))
  await tx.insert(deployments).values(made.map(({ text, ...row }) => ({ ...row, outputBytes: text.length })))
  await tx.insert(deploymentOutput).values(
    made.map(({ id, text, startedAt }) => ({
      orgId: key.orgId,
      deploymentId: id,
      position: 0,
      until: text.length,
      text,
      at: startedAt,
    })),
  )
}

const CHECKS = [
  {
    name: 'Shop answers',
    definition: {
      kind: 'http' as const,
      url: 'https://shop.example/health',
      method: 'GET' as const,
      headers: {},
      timeout_ms: 10_000,
      conditions: ['[STATUS] == 200', '[RESPONSE_TIME] < 500'],
    },
    enabled: false,
    reason: 'condition' as const,
    fails: (index: number): boolean => index === 11,
  },
  {
    name: 'No order fails',
    definition: {
      kind: 'logs' as const,
      pattern: 'POST /orders 500',
      level: 'error' as const,
      window_minutes: 24 * 60,
      max_count: 0,
    },
    enabled: true,
    reason: 'log_lines' as const,
    /** The runs since the bug was deployed. */
    fails: (index: number): boolean => index >= CHECK_RUNS - (2 * 24 + 8) / CHECK_HOURS,
  },
]

async function insertChecks({ tx, key, times }: Sample): Promise<void> {
  const timeOf = (index: number): Date => times.hoursAgo((CHECK_RUNS - index - 0.8) * CHECK_HOURS)
  const made = CHECKS.map((check) => {
    const results = Array.from({ length: CHECK_RUNS }, (_, index) => check.fails(index))
    const failures = results.length - 1 - results.lastIndexOf(false)
    return { ...check, id: makeId('chk', timeOf(0).getTime()), results, failures }
  })
  const latest = timeOf(CHECK_RUNS - 1)
  await tx.insert(checks).values(
    made.map(({ id, name, definition, enabled, results, failures }) => ({
      ...key,
      id,
      name,
      definition,
      intervalSeconds: CHECK_HOURS * 3_600,
      failureThreshold: 1,
      successThreshold: 1,
      enabled,
      maintenanceWindows: [],
      state: failures > 0 ? ('fail' as const) : ('pass' as const),
      stateSince: timeOf(failures > 0 ? CHECK_RUNS - failures : results.lastIndexOf(true) + 1),
      passes: failures > 0 ? 0 : results.length - 1 - results.lastIndexOf(true),
      failures,
      // Nobody is told of what was wrong before the first start.
      reportedFailed: failures > 0,
      runCount: results.length,
      recent: results.map((isFailed) => (isFailed ? 'f' : 'p')).join(''),
      lastRunAt: latest,
      nextRunAt: enabled ? times.later(latest, CHECK_HOURS * 60) : null,
      createdAt: timeOf(0),
    })),
  )
  await tx.insert(checkRuns).values(
    made.flatMap(({ id, results, reason, definition }) =>
      results.map((isFailed, slot) => ({
        orgId: key.orgId,
        checkId: id,
        slot,
        id: makeId('chr', timeOf(slot).getTime()),
        at: timeOf(slot),
        result: isFailed ? ('fail' as const) : ('pass' as const),
        ms: definition.kind === 'http' ? 80 + ((slot * 37) % 90) : 3,
        status: definition.kind === 'http' ? (isFailed ? 503 : 200) : null,
        reason: isFailed ? reason : null,
      })),
    ),
  )
}

async function insertPipeline({ tx, key, times }: Sample): Promise<void> {
  const nights = Array.from({ length: NIGHTS }, (_, night) => {
    const due = times.hoursAgo(night * 24 + NIGHT_HOUR)
    due.setUTCHours(NIGHT_HOUR, 0, 0, 0)
    return { due, isFailed: night === FAILED_NIGHT }
  })
  const oldest = nights.at(-1)!.due
  const id = makeId('ppl', oldest.getTime())
  await tx.insert(pipelines).values({
    ...key,
    id,
    name: 'nightly-report',
    cron: `0 ${NIGHT_HOUR} * * *`,
    timezone: 'UTC',
    graceMinutes: 10,
    timeoutMinutes: 60,
    concurrency: 'skip',
    enabled: false,
    nextDueAt: null,
    trouble: null,
    told: [],
    fence: NIGHTS,
    createdAt: oldest,
  })
  await tx.insert(pipelineRuns).values(
    nights.map(({ due, isFailed }, night) => ({
      ...key,
      id: makeId('prn', due.getTime()),
      pipelineId: id,
      state: isFailed ? ('failed' as const) : ('succeeded' as const),
      dueAt: due,
      isScheduled: true,
      startedAt: times.later(due, 0.05),
      endedAt: times.later(due, 0.4),
      worker: 'web-1',
      fence: NIGHTS - night,
      message: isFailed
        ? "ENOENT: no such file or directory, open 'orders.ndjson'"
        : `report: ${31 + night} orders`,
    })),
  )
}
