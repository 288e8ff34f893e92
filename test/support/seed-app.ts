/** A seeded app in a running system: its source pushed, its logs, checks and deployments as if they had happened. */
import { appHeads, checkRuns, checks, deployments } from '../../db/schema.ts'
import { and, eq } from '../../db/drizzle.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { CheckDefinition } from '../../src/contracts/checks.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { updateAppMaintenance } from '../../src/contracts/maintenance.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { storeLines } from '../../src/cores/logs/index.ts'
import { unique, type Org } from './make.ts'
import { recordsOf, type SeededApp } from './seeded-apps.ts'
import { archiveOf } from './source.ts'
import type { TestSystem } from './system.ts'

const MINUTE_MS = 60_000
const RESULTS = { p: 'pass', f: 'fail', e: 'error' } as const
const DEFINITIONS = {
  http: CheckDefinition.parse({ kind: 'http', url: 'https://app.test/' }),
  logs: CheckDefinition.parse({ kind: 'logs', pattern: 'panic' }),
}
const NO_LIMITS = { linesPerMinute: 1_000_000, bytesPerApp: Number.MAX_SAFE_INTEGER }

/** Its alias. The maintenance agent is on. */
export async function seedApp(system: TestSystem, org: Org, seeded: SeededApp): Promise<string> {
  const alias = unique(seeded.name).slice(-40)
  const { call } = org.owner
  const { id: appId } = await call(createApp, { alias, name: 'Seeded app' })
  const tree = Object.fromEntries(seeded.files.map(({ path, content }) => [path, content.toString()]))
  if (seeded.files.length > 0) await call(pushRevision, { alias, body: archiveOf(tree) })
  const now = system.clock.now()
  const key = { orgId: org.id, appId }
  await insertDeployments(system, key, seeded, now)
  await insertChecks(system, key, seeded, now)
  const records = await recordsOf(seeded, now)
  const deps = { db: system.db, clock: () => now, logLimits: NO_LIMITS }
  await storeLines(deps, { orgId: org.id, id: appId }, 0, () => ({ records, rejected: 0 }))
  await call(updateAppMaintenance, { alias, enabled: true })
  return alias
}

type Key = { readonly orgId: string; readonly appId: string }

async function insertDeployments(
  { db }: TestSystem,
  key: Key,
  { deployments: made }: SeededApp,
  now: Date,
): Promise<void> {
  const isHead = and(eq(appHeads.orgId, key.orgId), eq(appHeads.appId, key.appId))
  const [head] = await db.select().from(appHeads).where(isHead)
  if (!head || made.length === 0) return
  const oldestFirst = made.toSorted((a, b) => b.minutes_ago - a.minutes_ago)
  await db.insert(deployments).values(
    oldestFirst.map(({ minutes_ago, state }, index) => {
      const at = new Date(now.getTime() - minutes_ago * MINUTE_MS)
      return {
        ...key,
        id: makeId('dep', at.getTime()),
        revisionId: head.revisionId,
        fence: index + 1,
        state,
        code: state === 'failed' ? ('BUILD_FAILED' as const) : null,
        exitCode: state === 'failed' ? 1 : 0,
        runner: 'runner-1',
        requestedBy: 'Ada',
        requestedAt: at,
        startedAt: at,
        endedAt: at,
        releasedAt: at,
      }
    }),
  )
}

async function insertChecks(
  { db }: TestSystem,
  key: Key,
  { checks: made }: SeededApp,
  now: Date,
): Promise<void> {
  for (const { name, kind, every_minutes, results } of made) {
    const oldestFirst = [...results].map((mark) => RESULTS[mark as keyof typeof RESULTS])
    const last = oldestFirst.length - 1
    const timeOf = (index: number) => new Date(now.getTime() - (last - index) * every_minutes * MINUTE_MS)
    const state = oldestFirst[last]!
    const since = oldestFirst.findLastIndex((result) => result !== state) + 1
    const id = makeId('chk', timeOf(0).getTime())
    await db.insert(checks).values({
      ...key,
      id,
      name,
      definition: DEFINITIONS[kind],
      intervalSeconds: every_minutes * 60,
      failureThreshold: 1,
      successThreshold: 1,
      enabled: false,
      maintenanceWindows: [],
      state,
      stateSince: timeOf(since),
      passes: state === 'pass' ? oldestFirst.length - since : 0,
      failures: state === 'fail' ? oldestFirst.length - since : 0,
      reportedFailed: state === 'fail',
      runCount: oldestFirst.length,
      recent: results,
      lastRunAt: timeOf(last),
      nextRunAt: null,
      createdAt: timeOf(0),
    })
    await db.insert(checkRuns).values(
      oldestFirst.map((result, slot) => ({
        orgId: key.orgId,
        checkId: id,
        slot,
        id: makeId('chr', timeOf(slot).getTime()),
        at: timeOf(slot),
        result,
        ms: 10,
        status: null,
        reason:
          result === 'fail' ? (kind === 'http' ? ('condition' as const) : ('log_lines' as const)) : null,
      })),
    )
  }
}
