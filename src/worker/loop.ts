/**
 * One loop for all recurring jobs: take the lease in the database, run the job, set its next time. Whether a lease has ended
 * the database's clock decides, which is the same for all processes.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { and, eq, gt, inArray, isNull, lt, lte, or, sql } from '../../db/drizzle.ts'
import { jobs } from '../../db/schema.ts'
import type { Storage } from '../cores/dependencies.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'

export type Job = {
  readonly name: string
  readonly everySeconds: number
  /** Longer than the job ever takes: after it another process may start the same job. */
  readonly leaseSeconds: number
  readonly run: (stopping: AbortSignal) => Promise<void>
}

export type LoopDeps = Storage & { readonly log: Logger; readonly metrics: Metrics | undefined }

/** How often a process checks whether a job is due; jobs are minutes apart. */
const POLL_MS = 5_000

export function startLoop(deps: LoopDeps, table: readonly Job[]): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = run(deps, table, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** A loop for each job: none waits for another. */
export function startLoopForEach(deps: LoopDeps, table: readonly Job[]): { stop(): Promise<void> } {
  const loops = table.map((job) => startLoop(deps, [job]))
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) }
}

async function run(deps: LoopDeps, table: readonly Job[], stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    for (const job of await perhapsDue(deps, table)) {
      if (!stopping.aborted) await runIfDue(deps, job, stopping)
    }
    await sleep(POLL_MS, undefined, { signal: stopping }).catch(() => {})
  }
}

/** Most looks find nothing, so all jobs are looked at in one statement. Whoever takes the lease decides. */
async function perhapsDue({ db, clock }: Storage, table: readonly Job[]): Promise<readonly Job[]> {
  const isLeased = sql<boolean | null>`${jobs.leaseUntil} >= now()`
  const names = table.map(({ name }) => name)
  const rows = await db
    .select({ name: jobs.name, nextRunAt: jobs.nextRunAt, isLeased })
    .from(jobs)
    .where(inArray(jobs.name, names))
    // Whoever takes a lease meets the same, and says so.
    .catch(() => [])
  const known = new Map(rows.map((row) => [row.name, row]))
  const now = clock()
  return table.filter((job) => {
    const row = known.get(job.name)
    return !row || (!row.isLeased && (row.nextRunAt <= now || row.nextRunAt > farAhead(job, now)))
  })
}

/** A job that fails runs again at its next time, or after its lease if that is sooner; the loop itself goes on. */
export async function runIfDue(deps: LoopDeps, job: Job, stopping: AbortSignal): Promise<boolean> {
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  try {
    const lease = await takeLease(deps, job)
    if (!lease) return false
    try {
      await job.run(stopping)
    } catch (error) {
      await releaseLease(deps, job, lease, Math.min(job.everySeconds, job.leaseSeconds)).catch(() => {})
      throw error
    }
    await releaseLease(deps, job, lease, job.everySeconds)
    deps.metrics?.observeJob(job.name, 'done', seconds())
    return true
  } catch (error) {
    deps.metrics?.observeJob(job.name, 'failed', seconds())
    deps.log.error('job failed', { job: job.name, error })
    return false
  }
}

async function takeLease({ db, clock }: Storage, job: Job): Promise<string | undefined> {
  const now = clock()
  const leaseToken = randomUUID()
  await db.insert(jobs).values({ name: job.name, nextRunAt: now }).onConflictDoNothing()
  const [taken] = await db
    .update(jobs)
    .set({
      leaseToken,
      leaseUntil: sql`now() + make_interval(secs => ${String(job.leaseSeconds)}::double precision)`,
    })
    .where(
      and(
        eq(jobs.name, job.name),
        or(lte(jobs.nextRunAt, now), gt(jobs.nextRunAt, farAhead(job, now))),
        or(isNull(jobs.leaseUntil), lt(jobs.leaseUntil, sql`now()`)),
      ),
    )
    .returning({ name: jobs.name })
  return taken && leaseToken
}

/** Written by a clock that was ahead, it would silence the job for as long as it was. */
const farAhead = ({ everySeconds }: Job, now: Date) => new Date(now.getTime() + 2 * everySeconds * 1000)

/** Only its holder sets the next time: a lease that ran out may belong to another process by now. */
async function releaseLease(
  { db, clock }: Storage,
  job: Job,
  leaseToken: string,
  afterSeconds: number,
): Promise<void> {
  await db
    .update(jobs)
    .set({
      leaseToken: null,
      leaseUntil: null,
      nextRunAt: new Date(clock().getTime() + afterSeconds * 1000),
    })
    .where(and(eq(jobs.name, job.name), eq(jobs.leaseToken, leaseToken)))
}
