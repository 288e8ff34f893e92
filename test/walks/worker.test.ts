/** The worker: recurring jobs run once at their time, on whichever process, and sweeping loses nothing that is alive. */
import { randomUUID } from 'node:crypto'
import { eq, getTableName, inArray, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import {
  activity,
  chatAuthorizations,
  dataSources,
  deliveries,
  idempotencyKeys,
  invitations,
  jobs,
  loads,
  logLines,
  mailedLinks,
  oauthArtifacts,
  platformOauthClients,
  sessions,
  signInAttempts,
  signInCodes,
  throttles,
} from '../../db/schema.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { LOAD_DAYS } from '../../src/contracts/limits.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { limitsOf } from '../../src/boot/limits-of.ts'
import { sweepActivity } from '../../src/cores/activity/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { runIfDue, startLoop, startLoopForEach, type Job } from '../../src/worker/loop.ts'
import { jobTable, sweep, watchTable } from '../../src/worker/jobs.ts'
import { insertDelivery } from '../support/deliveries.ts'
import { makeOrganization, type Org } from '../support/make.ts'
import { newDatabase } from '../support/database.ts'
import { statementsOf } from '../support/statements.ts'
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

const ANSWERED = {
  type: 'data_source',
  userName: 'Somebody',
  entryPoint: 'api',
  outcome: 'answered',
  durationMs: 1,
  questionBytes: 1,
  answerBytes: 1,
  requestId: 'req_1',
} as const

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

/** One that is missing fails nowhere: what it does is just not done any more, and somebody notices after weeks. */
test('a worker has each of its jobs', () => {
  const [watched, others] = [watchTable, jobTable].map((table) => table({} as never).map(({ name }) => name))
  expect(watched).toEqual([
    'seal the trail',
    'enforce tenant limits',
    'reschedule checks',
    'release stranded messages',
    'fold delivery counts',
    'expire token reservations',
    'check disk quotas',
  ])
  expect(others).toEqual([
    'sweep',
    'keep months',
    'sweep activity',
    'sweep deliveries',
    'sweep token pools',
    'sweep logs',
    'sweep deployment output',
    'sweep revisions',
    'sweep pipeline runs',
    'measure fixes',
    'sweep maintenance',
    'narrow unused grants',
    'revoke public connect',
    'refresh client documents',
  ])
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
  expect(await statementsOf(system.db, () => startLoop(deps, table).stop())).toHaveLength(1)
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

  test('keeps its lease while it works, and is told to stop once another process has it', async () => {
    const { promise: works, resolve } = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    const { job } = countingJob()
    const long: Job = {
      ...job,
      leaseSeconds: 2,
      run(stopping) {
        stopping.addEventListener('abort', () => stopped.resolve())
        return works
      },
    }
    const running = runIfDue(depsOf(system), long, never)
    const leaseOf = async () => {
      const [row] = await system.db.select().from(jobs).where(eq(jobs.name, job.name))
      return row?.leaseUntil?.getTime() ?? 0
    }
    await expect.poll(leaseOf, { timeout: 10_000 }).toBeGreaterThan(0)
    const first = await leaseOf()
    await expect.poll(leaseOf, { timeout: 10_000 }).toBeGreaterThan(first)
    await system.db.update(jobs).set({ leaseToken: 'another' }).where(eq(jobs.name, job.name))
    await stopped.promise
    const [theirs] = await system.db.select().from(jobs).where(eq(jobs.name, job.name))
    resolve()
    await running
    // It is the other's to give back.
    expect(await system.db.select().from(jobs).where(eq(jobs.name, job.name))).toEqual([theirs])
  })

  test('that fails is logged, keeps the loop alive and is tried again when its lease is over', async () => {
    const { job, runs } = countingJob(true)
    expect(await runIfDue(depsOf(system), job, never)).toBe(false)
    const lines = system.logLines.filter((line) => line.includes(job.name))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', event: 'job failed', job: job.name, error: { message: 'planted' } },
    ])
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

  test('whose next time was written by a clock that was ahead runs all the same, once', async () => {
    const { job, runs } = countingJob()
    const deps = depsOf(system)
    const ahead = { ...deps, clock: () => new Date(system.clock.now().getTime() + 365 * 86_400_000) }
    expect(await runIfDue(ahead, job, never)).toBe(true)
    expect(await runIfDue(deps, job, never)).toBe(true)
    expect(await runIfDue(deps, job, never)).toBe(false)
    expect(runs()).toBe(2)
  })
})

/** The wrong clock is that of a machine which has just started: what it deletes is gone for good. */
test('a clock that is a year ahead deletes nothing of yesterday: jobs go by the database’s', async () => {
  const connection = await newDatabase()
  const own = await startSystem({ AUTH_MODE: 'self' }, { connection })
  const DAY = 86_400
  try {
    const [now] = await own.db.execute<{ ms: number }>(
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    )
    own.clock.advance((now!.ms - own.clock.now().getTime()) / 1000 - DAY)
    const org = await makeOrganization(own)
    const { call } = org.owner
    await call(createApp, { alias: 'shop', name: 'Shop' })
    await call(pushLogs, { alias: 'shop', body: Buffer.from('of yesterday') })
    await insertDelivery(own, org, {})
    await own.db.insert(activity).values({
      ...ANSWERED,
      orgId: org.id,
      id: makeId('act', own.clock.now().getTime()),
      at: own.clock.now(),
      userId: org.owner.userId,
    })
    const deps = {
      ...depsOf(own),
      clock: () => new Date(own.clock.now().getTime() + 366 * DAY * 1000),
      dataKeys: dataKeys('00'.repeat(32)),
      partitions: connection.kind === 'postgres',
      activityDays: 30,
      deliveryDays: 30,
      sourceStorageBytes: 1,
      tenantServer: undefined,
      tenantLimits: limitsOf(own.system.config).tenantLimits,
      revokePublicConnect: async () => {},
      refreshDocuments: async () => {},
    }
    // Sealed first: what is not stays anyway.
    for (const job of [...watchTable(deps), ...jobTable(deps)])
      expect(await runIfDue(deps, job, never), job.name).toBe(true)
    for (const table of [logLines, deliveries, activity, sessions])
      expect(await own.db.$count(table), getTableName(table)).toBe(1)
  } finally {
    await own.stop()
    await connection.close()
  }
})

describe('sweeping throws away what expired, and leaves what lives', () => {
  const DAY_SECONDS = 24 * 60 * 60
  type Swept = {
    readonly key: PgColumn
    /** How long it is kept after its time. */
    readonly keptDays?: number
    readonly insert: (key: string, at: Date, org: Org) => Promise<unknown>
  }
  const into = <T extends PgTable>(table: T, row: T['$inferInsert']) => system.db.insert(table).values(row)
  const TABLES: Record<string, Swept> = {
    throttles: {
      key: throttles.key,
      insert: (key, fullUntil) => into(throttles, { key, fullUntil }),
    },
    'codes to sign in with': {
      key: signInCodes.codeHash,
      async insert(codeHash, expiresAt, { owner }) {
        const [session] = await system.db.select().from(sessions).where(eq(sessions.userId, owner.userId))
        await into(signInCodes, { codeHash, sessionId: session!.id, expiresAt })
      },
    },
    'attempts to sign in': {
      key: signInAttempts.stateHash,
      insert: (key, expiresAt) =>
        into(signInAttempts, {
          stateHash: key,
          provider: 'google',
          browserHash: key,
          nonce: key,
          codeVerifier: key,
          returnTo: '{}',
          expiresAt,
        }),
    },
    'links in mails': {
      key: mailedLinks.secretHash,
      insert: (secretHash, expiresAt, { owner: { userId, email } }) =>
        into(mailedLinks, { secretHash, purpose: 'operator-reset', userId, email, expiresAt }),
    },
    'idempotency keys': {
      key: idempotencyKeys.key,
      insert: (key, expiresAt, { id: owner }) =>
        into(idempotencyKeys, { owner, key, requestHash: key, status: 200, answer: {}, expiresAt }),
    },
    'authorizations of chats': {
      key: chatAuthorizations.stateHash,
      insert: (stateHash, expiresAt, { id: orgId, owner: { userId } }) =>
        into(chatAuthorizations, { orgId, stateHash, userId, purpose: 'link', nonce: stateHash, expiresAt }),
    },
    'tokens and codes of assistants': {
      key: oauthArtifacts.id,
      insert: (id, expiresAt) => into(oauthArtifacts, { id, kind: 'AccessToken', payload: {}, expiresAt }),
    },
    'registered clients': {
      key: platformOauthClients.clientId,
      keptDays: 30,
      insert: (clientId, expiresAt) => into(platformOauthClients, { clientId, kind: 'dynamic', expiresAt }),
    },
    invitations: {
      key: invitations.id,
      keptDays: 30,
      insert: (id, expiresAt, { id: orgId }) =>
        into(invitations, {
          orgId,
          id,
          email: 'somebody@example.test',
          role: 'viewer',
          secretHash: id,
          sentByMail: false,
          createdAt: expiresAt,
          expiresAt,
        }),
    },
    loads: {
      key: loads.id,
      keptDays: LOAD_DAYS,
      async insert(id, finishedAt, { id: orgId, owner: { userId } }) {
        const source = { orgId, id: `src_${id}`, name: id, title: id, kind: 'embedded', sealed: '' } as const
        await into(dataSources, { ...source, createdAt: finishedAt })
        await into(loads, {
          orgId,
          id,
          sourceId: source.id,
          filename: 'a.csv',
          format: 'csv',
          bytes: 1,
          sha256: id,
          state: 'succeeded',
          createdBy: userId,
          createdByName: 'Somebody',
          createdAt: finishedAt,
          updatedAt: finishedAt,
          finishedAt,
        })
      },
    },
  }

  test.each(Object.entries(TABLES))('%s', async (_, { key, keptDays = 0, insert }) => {
    const org = await makeOrganization(system)
    const now = system.clock.now().getTime()
    const at = (seconds: number) => new Date(now + (seconds - keptDays * DAY_SECONDS) * 1000)
    const [old, young] = [`old-${randomUUID()}`, `young-${randomUUID()}`]
    await insert(old, at(-10), org)
    await insert(young, at(600), org)
    await sweep(depsOf(system))
    const left = await system.db
      .select({ key })
      .from(key.table)
      .where(inArray(key, [old, young]))
    expect(left).toEqual([{ key: young }])
    await expect(org.owner.call(whoAmI, {})).resolves.toMatchObject({ role: 'owner' })
  })

  test('activity, after as many days as the operator keeps it', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const now = system.clock.now().getTime()
    for (const { id: orgId, owner } of [org, other]) {
      for (const days of [8, 6]) {
        await into(activity, {
          orgId,
          id: `act_${days}`,
          at: new Date(now - days * DAY_SECONDS * 1000),
          userId: owner.userId,
          ...ANSWERED,
        })
      }
    }
    await sweepActivity({ ...depsOf(system), dataKeys: dataKeys('00'.repeat(32)), activityDays: 7 })
    for (const { id } of [org, other]) {
      const left = await system.db.select({ id: activity.id }).from(activity).where(eq(activity.orgId, id))
      expect(left).toEqual([{ id: 'act_6' }])
    }
  })
})
