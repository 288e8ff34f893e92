/** One loop for all recurring jobs: take the lease in the database, do the work, put the next time. */
import { randomUUID } from 'node:crypto'
import { and, eq, isNull, lt, lte, or } from '../../db/drizzle.ts'
import { jobs } from '../../db/schema.ts'
import type { Storage } from '../cores/needs.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'

export type Job = {
  readonly name: string
  readonly everySeconds: number
  /** Longer than the job ever takes: after it another process may start the same job. */
  readonly leaseSeconds: number
  readonly run: (stopping: AbortSignal) => Promise<void>
}

export type LoopNeeds = Storage & { readonly log: Logger; readonly metrics: Metrics | undefined }

/** How often a process looks whether something is due; jobs are minutes apart. */
const LOOK_MS = 5_000

export function startLoop(needs: LoopNeeds, table: readonly Job[]): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = run(needs, table, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function run(needs: LoopNeeds, table: readonly Job[], stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    for (const job of table) {
      if (!stopping.aborted) await runIfDue(needs, job, stopping)
    }
    await sleep(LOOK_MS, stopping)
  }
}

/** A job that fails is tried again at its next time; the loop itself never dies of one. */
export async function runIfDue(needs: LoopNeeds, job: Job, stopping: AbortSignal): Promise<boolean> {
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  try {
    const lease = await takeLease(needs, job)
    if (!lease) return false
    await job.run(stopping)
    await releaseLease(needs, job, lease)
    needs.metrics?.observeJob(job.name, 'done', seconds())
    return true
  } catch (error) {
    needs.metrics?.observeJob(job.name, 'failed', seconds())
    needs.log.error('job failed', { job: job.name, error })
    return false
  }
}

async function takeLease({ db, clock }: Storage, job: Job): Promise<string | undefined> {
  const now = clock()
  const leaseToken = randomUUID()
  await db.insert(jobs).values({ name: job.name, nextRunAt: now }).onConflictDoNothing()
  const [taken] = await db
    .update(jobs)
    .set({ leaseToken, leaseUntil: new Date(now.getTime() + job.leaseSeconds * 1000) })
    .where(
      and(
        eq(jobs.name, job.name),
        lte(jobs.nextRunAt, now),
        or(isNull(jobs.leaseUntil), lt(jobs.leaseUntil, now)),
      ),
    )
    .returning({ name: jobs.name })
  return taken && leaseToken
}

/** Only the holder moves the time on: a lease that ran out may be in other hands by now. */
async function releaseLease({ db, clock }: Storage, job: Job, leaseToken: string): Promise<void> {
  await db
    .update(jobs)
    .set({
      leaseToken: null,
      leaseUntil: null,
      nextRunAt: new Date(clock().getTime() + job.everySeconds * 1000),
    })
    .where(and(eq(jobs.name, job.name), eq(jobs.leaseToken, leaseToken)))
}

function sleep(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // Asked to stop while a job ran: the event is over and would not come again.
    if (stopping.aborted) return resolve()
    const timer = setTimeout(done, ms)
    stopping.addEventListener('abort', done, { once: true })
    function done() {
      clearTimeout(timer)
      stopping.removeEventListener('abort', done)
      resolve()
    }
  })
}
