/**
 * One loop for all recurring jobs: take the lease in the database, run the job, set its next time.
 */
import { and, eq, gt, inArray, lte, or } from '../../db/drizzle.ts'
import { jobs } from '../../db/schema.ts'
import type { Clock, Storage } from '../cores/dependencies.ts'
import { leased, startLoops, whileRenewed, type Loop } from '../cores/work/index.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { clockReader } from './clock-reader.ts'

export type Job = {
  readonly name: string
  readonly everySeconds: number
  /** Renewed while it works: so long after its process ended another one may start the same job. */
  readonly leaseSeconds: number
  /** By this clock, and not by that of the process: what it deletes is gone for good. */
  readonly run: (stopping: AbortSignal, clock: Clock) => Promise<void>
}

type JobRow = typeof jobs.$inferSelect

const jobLease = leased(jobs, { heldBy: ['name', 'leaseToken'], holder: 'leaseToken', until: 'leaseUntil' })

export type LoopDeps = Storage & { readonly log: Logger; readonly metrics: Metrics | undefined }

export const startLoop = (deps: LoopDeps, table: readonly Job[]): { stop(): Promise<void> } =>
  startLoops(deps, [makeLoop(deps, 'jobs', table, clockReader(deps))])

/** A loop for each job: none waits for another. */
export function startLoopForEach(deps: LoopDeps, table: readonly Job[]): { stop(): Promise<void> } {
  const readClock = clockReader(deps)
  return startLoops(
    deps,
    table.map((job) => makeLoop(deps, `job: ${job.name}`, [job], readClock)),
  )
}

/** Jobs come due by the time alone. */
const NET_MS = 5 * 60_000
/** While another process has a job. */
const LEASED_MS = 5_000

const makeLoop = (
  deps: LoopDeps,
  name: string,
  table: readonly Job[],
  readClock: () => Promise<Clock>,
): Loop => ({
  name,
  netMs: NET_MS,
  async turn(stopping) {
    const known = await readJobs(deps, table)
    const times: number[] = []
    for (const job of table) {
      const row = known.get(job.name)
      if (row?.isLeased) times.push(deps.clock().getTime() + LEASED_MS)
      else if (row && !isDue(job, row, deps.clock())) times.push(row.nextRunAt.getTime())
      else {
        if (!stopping.aborted) await runIfDue(deps, job, stopping, readClock)
        // At the earliest: when it failed.
        times.push(deps.clock().getTime() + Math.min(job.everySeconds, job.leaseSeconds) * 1000)
      }
    }
    return new Date(Math.min(...times))
  },
})

/** Most looks find nothing, so all jobs are looked at in one statement. Whoever takes the lease decides. */
async function readJobs({ db }: Storage, table: readonly Job[]) {
  const names = table.map(({ name }) => name)
  const rows = await db
    .select({ name: jobs.name, nextRunAt: jobs.nextRunAt, isLeased: jobLease.isLive() })
    .from(jobs)
    .where(inArray(jobs.name, names))
  return new Map(rows.map((row) => [row.name, row]))
}

const isDue = (job: Job, { nextRunAt }: Pick<JobRow, 'nextRunAt'>, now: Date): boolean =>
  nextRunAt <= now || nextRunAt > farAhead(job, now)

/** A job that fails runs again at its next time, or after its lease if that is sooner; the loop itself goes on. */
export async function runIfDue(
  deps: LoopDeps,
  job: Job,
  stopping: AbortSignal,
  readClock = clockReader(deps),
): Promise<boolean> {
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  try {
    const lease = await takeLease(deps, job)
    if (!lease) return false
    try {
      const clock = await readClock()
      await whileRenewed(renewing(deps, job, lease), (lost) =>
        job.run(AbortSignal.any([stopping, lost]), clock),
      )
    } catch (error) {
      await releaseLease(deps, lease, Math.min(job.everySeconds, job.leaseSeconds)).catch(() => {})
      throw error
    }
    await releaseLease(deps, lease, job.everySeconds)
    deps.metrics?.observeJob(job.name, 'done', seconds())
    return true
  } catch (error) {
    deps.metrics?.observeJob(job.name, 'failed', seconds())
    deps.log.warn('job failed', { job: job.name, error })
    return false
  }
}

const renewing = ({ db, log }: LoopDeps, { name, leaseSeconds }: Job, lease: JobRow) => ({
  seconds: leaseSeconds,
  renew: async () => (await jobLease.renew(db, jobLease.isHeld(lease), {}, leaseSeconds)) !== undefined,
  onError: (error: unknown) => log.warn('a lease was not renewed', { job: name, error }),
})

async function takeLease({ db, clock }: Storage, job: Job): Promise<JobRow | undefined> {
  const now = clock()
  await db.insert(jobs).values({ name: job.name, nextRunAt: now }).onConflictDoNothing()
  const isDue = or(lte(jobs.nextRunAt, now), gt(jobs.nextRunAt, farAhead(job, now)))
  return jobLease.take(db, and(eq(jobs.name, job.name), isDue), {}, job.leaseSeconds)
}

/** Written by a clock that was ahead, it would silence the job for as long as it was. */
const farAhead = ({ everySeconds }: Job, now: Date) => new Date(now.getTime() + 2 * everySeconds * 1000)

/** Only its holder sets the next time: a lease that ran out may belong to another process by now. */
const releaseLease = ({ db, clock }: Storage, held: JobRow, afterSeconds: number): Promise<unknown> =>
  jobLease.release(db, jobLease.isHeld(held), {
    nextRunAt: new Date(clock().getTime() + afterSeconds * 1000),
  })
