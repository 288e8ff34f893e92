/** The worker: recurring jobs run once at their time, on whichever process, and sweeping loses nothing that is alive. */
import { randomUUID } from 'node:crypto'
import { eq, inArray, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobs, mailedLinks, sessions, signInAttempts, signInCodes, throttles } from '../../db/schema.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { runIfDue, startLoop, startLoopForEach, type Job } from '../../src/worker/loop.ts'
import { sweep } from '../../src/worker/jobs.ts'
import { makeOrganization } from '../support/make.ts'
import { newDatabase } from '../support/database.ts'
import { statementsDuring } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system.stop())

const depsOf = ({ db, clock, system: { log } }: TestSystem) => ({
  db,
  clock: () => clock.now(),
  log,
  metrics: undefined,
})
const never = new AbortController().signal
/** Also for leases, which run by the database's clock. */
async function later(seconds: number) {
  system.clock.advance(seconds)
  await system.db.execute(
    sql`update jobs set lease_until = lease_until - make_interval(secs => ${String(seconds)}::float8)`,
  )
}

function countingJob(fails = false): { job: Job; runs: () => number } {
  let runs = 0
  const run = async () => {
    runs++
    if (fails) throw new Error('planted')
  }
  return { job: { name: `job-${randomUUID()}`, everySeconds: 60, leaseSeconds: 30, run }, runs: () => runs }
}

test('a worker sweeps, and watches tenants beside that', async () => {
  const connection = await newDatabase()
  const own = await startSystem(
    { SVC_SERVICES: 'worker', AUTH_MODE: 'self', MANAGED_DATABASE_URL: 'embedded' },
    { connection },
  )
  try {
    own.system.startJobs()
    const names = async () => (await connection.db.select().from(jobs)).map(({ name }) => name)
    await expect
      .poll(names, { timeout: 10_000 })
      .toEqual(expect.arrayContaining(['sweep', 'enforce tenant limits', 'check disk quotas']))
  } finally {
    await own.stop()
    await connection.close()
  }
})

test('jobs that are to be in time do not wait for each other', async () => {
  const { promise: hangs, resolve } = Promise.withResolvers<void>()
  const slow: Job = { ...countingJob().job, run: () => hangs }
  const { job, runs } = countingJob()
  const loops = startLoopForEach(depsOf(system), [slow, job])
  try {
    await expect.poll(runs).toBe(1)
  } finally {
    resolve()
    await loops.stop()
  }
})

test('a look at jobs of which none is due is one statement; those that are due or new run', async () => {
  const deps = depsOf(system)
  const before = [countingJob(), countingJob(), countingJob()]
  for (const { job } of before) await runIfDue(deps, job, never)
  const table = before.map(({ job }) => job)
  expect(await statementsDuring(system.db, () => startLoop(deps, table).stop())).toHaveLength(1)
  const added = countingJob()
  const all = [...before, added]
  const runs = () => all.map((each) => each.runs())
  const untilRuns = async (expected: number[]) => {
    const loop = startLoop(deps, [...table, added.job])
    await expect.poll(runs).toEqual(expected)
    await loop.stop()
  }
  await untilRuns([1, 1, 1, 1])
  system.clock.advance(61)
  await untilRuns([2, 2, 2, 2])
})

describe('a recurring job', () => {
  test('runs when due, then not again before its time', async () => {
    const { job, runs } = countingJob()
    expect(await runIfDue(depsOf(system), job, never)).toBe(true)
    expect(await runIfDue(depsOf(system), job, never)).toBe(false)
    system.clock.advance(61)
    expect(await runIfDue(depsOf(system), job, never)).toBe(true)
    expect(runs()).toBe(2)
  })

  test('of many processes that look at the same moment one runs it', async () => {
    const { job, runs } = countingJob()
    await Promise.all(Array.from({ length: 8 }, () => runIfDue(depsOf(system), job, never)))
    expect(runs()).toBe(1)
  })

  test('that fails is logged, keeps the loop alive and is tried again when its lease is over', async () => {
    const { job, runs } = countingJob(true)
    expect(await runIfDue(depsOf(system), job, never)).toBe(false)
    expect(system.logLines.some((line) => line.includes(job.name) && line.includes('planted'))).toBe(true)
    expect(await runIfDue(depsOf(system), job, never)).toBe(false)
    expect(runs()).toBe(1)
    await later(31)
    await runIfDue(depsOf(system), job, never)
    expect(runs()).toBe(2)
  })

  test('that fails does not wait out a lease that is longer than its interval', async () => {
    const { job, runs } = countingJob(true)
    const often: Job = { ...job, everySeconds: 10, leaseSeconds: 600 }
    await runIfDue(depsOf(system), often, never)
    await runIfDue(depsOf(system), often, never)
    expect(runs(), 'not at once').toBe(1)
    system.clock.advance(11)
    await runIfDue(depsOf(system), often, never)
    expect(runs()).toBe(2)
  })

  test('belongs to one process until its lease is over by the database’s clock, however wrong the others’ clocks are', async () => {
    const { job, runs } = countingJob()
    const deps = depsOf(system)
    const ahead = { ...deps, clock: () => new Date(system.clock.now().getTime() + 86_400_000) }
    const behind = { ...deps, clock: () => new Date(system.clock.now().getTime() - 86_400_000) }
    let taken: boolean[] = []
    const first: Job = { ...job, run: async () => void (taken = [await runIfDue(ahead, job, never)]) }
    // Its own clock says that the lease it takes is long over.
    await runIfDue(behind, first, never)
    await runIfDue(deps, first, never)
    expect([taken, runs()]).toEqual([[false], 0])
  })

  test('whose next time was written by a clock that was ahead runs all the same, once', async () => {
    const { job, runs } = countingJob()
    const deps = depsOf(system)
    const ahead = { ...deps, clock: () => new Date(system.clock.now().getTime() + 365 * 86_400_000) }
    expect(await runIfDue(ahead, job, never)).toBe(true)
    expect(await runIfDue(deps, job, never)).toBe(true)
    expect(await runIfDue(deps, job, never)).toBe(false)
    expect(runs()).toBe(2)
  })

  test('whose lease ran out does not move the time of the process that took over', async () => {
    const { job } = countingJob()
    const slow: Job = { ...job, run: () => later(31) }
    const late: Job = {
      ...job,
      run: async () => {
        await later(31)
        await runIfDue(depsOf(system), slow, never)
      },
    }
    await runIfDue(depsOf(system), late, never)
    const [row] = await system.db.select().from(jobs).where(eq(jobs.name, job.name))
    expect(row?.leaseToken).toBeNull()
    expect(row!.nextRunAt.getTime()).toBeGreaterThan(system.clock.now().getTime() + 55_000)
  })

  test('whose lease ran out leaves the lease of the process that runs it now', async () => {
    const { job } = countingJob()
    const [successorRuns, firstEnded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let third = true
    const successor: Job = {
      ...job,
      run: async () => {
        successorRuns.resolve()
        await firstEnded.promise
        // It still has its lease: nobody else may start.
        third = await runIfDue(depsOf(system), job, never)
      },
    }
    let running: Promise<boolean> | undefined
    const first: Job = {
      ...job,
      run: async () => {
        await later(31)
        running = runIfDue(depsOf(system), successor, never)
        await successorRuns.promise
      },
    }
    await runIfDue(depsOf(system), first, never)
    const [row] = await system.db.select().from(jobs).where(eq(jobs.name, job.name))
    expect(row?.leaseToken).not.toBeNull()
    firstEnded.resolve()
    await running
    expect(third).toBe(false)
  })
})

test('sweeping throws away what expired and leaves what lives', async () => {
  const org = await makeOrganization(system)
  const now = system.clock.now()
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000)
  const keys = { old: `old-${randomUUID()}`, young: `young-${randomUUID()}` }
  const [session] = await system.db.select().from(sessions).where(eq(sessions.userId, org.owner.userId))
  for (const [name, seconds] of [
    [keys.old, -10],
    [keys.young, 600],
  ] as const) {
    await system.db.insert(throttles).values({ key: name, fullUntil: at(seconds) })
    await system.db
      .insert(signInCodes)
      .values({ codeHash: name, sessionId: session!.id, expiresAt: at(seconds) })
    await system.db.insert(signInAttempts).values({
      stateHash: name,
      provider: 'google',
      browserHash: name,
      nonce: name,
      codeVerifier: name,
      returnTo: '{}',
      expiresAt: at(seconds),
    })
    await system.db.insert(mailedLinks).values({
      secretHash: name,
      purpose: 'operator-reset',
      userId: org.owner.userId,
      email: org.owner.email,
      expiresAt: at(seconds),
    })
  }
  await sweep(depsOf(system))
  for (const [table, key] of [
    [throttles, throttles.key],
    [signInCodes, signInCodes.codeHash],
    [signInAttempts, signInAttempts.stateHash],
    [mailedLinks, mailedLinks.secretHash],
  ] as const) {
    const left = await system.db
      .select({ key })
      .from(table)
      .where(inArray(key, [keys.old, keys.young]))
    expect(left).toEqual([{ key: keys.young }])
  }
  await expect(org.owner.call(whoAmI, {})).resolves.toMatchObject({ role: 'owner' })
})
