/**
 * What everybody who works under a lease is promised, for each kind of work from one table: it is one holder's at a time,
 * whoever lost it writes nothing more, the database's clock alone decides, and no organization waits for another's.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { PgTable } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq, getTableName, ne, sql } from '../../db/drizzle.ts'
import * as tables from '../../db/schema.ts'
import { CLAIM } from '../../src/contracts/limits.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { createCheckRunner, expireCheckClaims, type HttpProbe } from '../../src/cores/checks/index.ts'
import {
  claimDeployment,
  expireDeployments,
  reportDeploymentOutput,
} from '../../src/cores/deployments/index.ts'
import type { Clock } from '../../src/cores/dependencies.ts'
import { markReady, resumeCreation } from '../../src/cores/databases/create-database.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'
import { claimLoad, releaseLoad, renewLease, saveStep } from '../../src/cores/loads/claim-load.ts'
import {
  claimRun,
  endRun,
  expireRuns,
  renewLease as renewRunLease,
  underLease,
} from '../../src/cores/maintenance/index.ts'
import { attemptResult, finishAndStartAttempts } from '../../src/cores/notifications/delivery/attempts.ts'
import { claimMessages, releaseClaims } from '../../src/cores/notifications/delivery/claim-messages.ts'
import { expireLeases, type Unended } from '../../src/cores/notifications/index.ts'
import { claimPipelineRun, endOverdueRuns, keepPipelineRun } from '../../src/cores/pipelines/index.ts'
import { claimPullRequest, settlePullRequest } from '../../src/cores/remotes/index.ts'
import { TRAIL_BEGIN } from '../../src/cores/trail/stream-trail.ts'
import { claimStream, sendPage } from '../../src/cores/trail/send-trail.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { newTimeline, updateTimeline, wentBack } from '../../src/cores/endings/timeline.ts'
import { handleInTurns } from '../../src/cores/work/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { runIfDue } from '../../src/worker/loop.ts'
import type { MemberPrincipal } from '../../src/cores/principal.ts'
import type { ManagedDatabases } from '../../src/cores/databases/managed-databases.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { untilLocked } from '../support/statements.ts'

type Held = {
  /** Whether what its holder does counts. */
  readonly write: () => Promise<boolean>
  readonly renew?: () => Promise<boolean>
  readonly giveBack?: () => Promise<unknown>
}

type Leased = {
  readonly table: PgTable
  /** Its column with the end of the lease. */
  readonly until: string
  readonly seconds: number
  /** Of one that is over: another may do it again, or it ends. */
  readonly becomes: 'free' | 'ended'
  /** Once it is over its holder has lost it, also before anybody has noticed. */
  readonly endsByItself?: true
  readonly isRenewed?: true
  readonly isGivenBack?: true
  /** What holders know of the end of theirs: it is a part of what they are known by. */
  readonly ends?: () => Iterable<Date>
  readonly make: (orgId: string, n: number) => Promise<unknown>
  /** One, if there is one for a worker to take. */
  readonly claim: (clock?: Clock) => Promise<Held | undefined>
  /** What workers do about those that are over. */
  readonly expire: (clock?: Clock) => Promise<unknown>
  /** Left out: they are of no organization, or wait as another kind here does. */
  readonly fairly?: {
    /** So many of an organization wait for a turn. */
    readonly crowd: (orgId: string, n: number) => Promise<unknown>
    /** Whose turn it was. */
    readonly turn: () => Promise<readonly string[]>
    readonly turns: number
  }
}

let database: TestDatabase
beforeAll(async () => {
  database = await newDatabase()
  const [read] = await database.db.execute<{ ms: number }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  )
  startMs = read!.ms
  for (const orgId of ORGS) {
    await insert(tables.apps, {
      orgId,
      id: `app-${orgId}`,
      alias: 'shop',
      name: 'Shop',
      createdAt: longAgo(),
    })
  }
})
/** Jobs that a test leaves running renew their leases. */
const running = new Set<() => Promise<unknown>>()
afterAll(async () => {
  await Promise.all([...running].map((end) => end()))
  await database?.close()
})
beforeEach(async () => {
  for (const { table } of Object.values(LEASED)) await database.db.delete(table)
  for (const table of [tables.maintenanceRuns, tables.pipelines]) await database.db.delete(table)
})

const ORG = 'org_few'
const CROWDED = 'org_crowded'
const ORGS = [ORG, CROWDED]
const DAY_MS = 24 * 60 * 60 * 1000
/** By the database's clock: walks have none of their own. */
let startMs = 0
const daysFromNow = (days: number): Date => new Date(startMs + days * DAY_MS)
const longAgo = () => daysFromNow(-2)
const SECONDS = 60

const shifted =
  (hours: number): Clock =>
  () =>
    daysFromNow(hours / 24)
const [now, ahead, behind] = [shifted(0), shifted(1), shifted(-1)]
const storage = (clock: Clock = now) => ({ db: database.db, clock })
const log = {
  warn: (event: string, fields?: object): never => {
    throw new Error(event, { cause: fields })
  },
}
const looking = (clock?: Clock) => ({ ...storage(clock), log })
/** Since ever: whoever did not report could have. */
const WATCH = { since: new Date(0) }

const insert = (table: PgTable, ...rows: object[]) => database.db.insert(table).values(rows)
const many = (n: number, row: (id: string, nth: number) => object): object[] =>
  Array.from({ length: n }, (_, nth) => row(`${String(nth).padStart(4, '0')}-${randomUUID()}`, nth))
const idsIn = async (table: PgTable, where: string): Promise<string[]> =>
  (
    await database.db.execute<{ org: string }>(
      sql.raw(`select distinct org_id as org from ${getTableName(table)} where ${where}`),
    )
  ).map(({ org }) => org)

/** Whether it was not refused. */
const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if ((error as { code?: string }).code === 'CONFLICT') return false
      throw error
    },
  )

/** The rows of a kind of work as they are now, and everything that a claim of it writes; forgets what comes after. */
async function remember(table: PgTable): Promise<() => Promise<void>> {
  const beside: readonly PgTable[] = [
    tables.maintenanceRuns,
    tables.pipelines,
    tables.attempts,
    tables.messageTargets,
  ]
  const saved = await Promise.all(
    [table, ...beside].map(async (each) => [each, await database.db.select().from(each)] as const),
  )
  return async () => {
    for (const [each, rows] of saved) {
      await database.db.delete(each)
      if (rows.length > 0) await database.db.insert(each).values(rows)
    }
  }
}

const ofApp = (orgId: string) =>
  ({ kind: 'app', orgId, userId: null, role: null, app: { id: `app-${orgId}` } }) as never
const appDeps = (clock?: Clock) => {
  const own = storage(clock)
  return { ...own, directory: localDirectory(own.clock) }
}

const deployment: Leased = {
  table: tables.deployments,
  until: 'lease_until',
  seconds: SECONDS,
  becomes: 'ended',
  isRenewed: true,
  make: (orgId, n) =>
    insert(
      tables.deployments,
      ...many(n, (id, nth) => ({
        orgId,
        id,
        appId: `app-${orgId}`,
        revisionId: 'rev',
        fence: nth + 1,
        state: 'queued',
        requestedBy: 'somebody',
        requestedAt: now(),
      })),
    ),
  async claim(clock) {
    const { deployment: claimed, fence } = await claimDeployment(appDeps(clock))(ofApp(ORG), {
      alias: 'shop',
      runner: 'runner',
      wait_seconds: 0,
    })
    const report = () =>
      succeeds(
        reportDeploymentOutput(appDeps(clock))(ofApp(ORG), {
          alias: 'shop',
          deployment_id: claimed!.id,
          fence: fence!,
          text: '',
          position: 0,
          last: false,
        }),
      )
    return claimed ? { write: report, renew: report } : undefined
  },
  expire: (clock) => expireDeployments(looking(clock), WATCH),
  fairly: {
    turns: 1,
    async crowd(orgId, n) {
      await deployment.make(orgId, n)
      await database.db.update(tables.deployments).set({ state: 'running', leaseUntil: longAgo() })
    },
    async turn() {
      await deployment.expire()
      return idsIn(tables.deployments, `state = 'failed'`)
    },
  },
}

const pipelineRun: Leased = {
  table: tables.pipelineRuns,
  until: 'lease_until',
  seconds: SECONDS,
  becomes: 'ended',
  isRenewed: true,
  async make(orgId, n) {
    const appId = `app-${orgId}`
    await insert(tables.pipelines, {
      orgId,
      id: 'pipeline',
      appId,
      name: 'nightly',
      timezone: 'UTC',
      graceMinutes: 60,
      timeoutMinutes: 24 * 60,
      concurrency: 'allow',
      enabled: true,
      told: {},
      createdAt: longAgo(),
    })
    await insert(
      tables.pipelineRuns,
      ...many(n, (id) => ({
        orgId,
        id,
        appId,
        pipelineId: 'pipeline',
        state: 'queued',
        dueAt: longAgo(),
        isScheduled: false,
        claimableUntil: daysFromNow(1),
      })),
    )
  },
  async claim(clock) {
    const { run, fence } = await claimPipelineRun(appDeps(clock))(ofApp(ORG), {
      alias: 'shop',
      worker: 'worker',
      pipelines: ['nightly'],
      wait_seconds: 0,
    })
    const keep = () =>
      succeeds(keepPipelineRun(appDeps(clock))(ofApp(ORG), { alias: 'shop', run_id: run!.id, fence: fence! }))
    return run ? { write: keep, renew: keep } : undefined
  },
  expire: (clock) => endOverdueRuns(looking(clock), WATCH),
  fairly: {
    turns: 1,
    async crowd(orgId, n) {
      await pipelineRun.make(orgId, n)
      await database.db
        .update(tables.pipelineRuns)
        .set({ state: 'running', leaseUntil: longAgo(), claimableUntil: null })
    },
    async turn() {
      await pipelineRun.expire()
      return idsIn(tables.pipelineRuns, `state = 'failed'`)
    },
  },
}

const KEYS = dataKeys(randomBytes(32).toString('hex'))
const runner = (clock: Clock | undefined, probeHttp: HttpProbe, slots: number) =>
  createCheckRunner(
    {
      ...looking(clock),
      dataKeys: KEYS,
      judge: undefined as never,
      matchLines: undefined as never,
      probeHttp,
    },
    { inFlightMax: slots, perOrganization: slots, leaseSeconds: SECONDS },
  )

const check: Leased = {
  table: tables.checks,
  until: 'lease_until',
  seconds: SECONDS,
  becomes: 'free',
  isGivenBack: true,
  make: (orgId, n) =>
    insert(
      tables.checks,
      ...many(n, (id) => ({
        orgId,
        id,
        appId: `app-${orgId}`,
        name: id,
        definition: {
          kind: 'http',
          url: 'https://shop.test/',
          method: 'GET',
          timeout_ms: 1_000,
          conditions: [],
        },
        intervalSeconds: 60,
        failureThreshold: 1,
        successThreshold: 1,
        enabled: true,
        maintenanceWindows: [],
        nextRunAt: daysFromNow(orgId === CROWDED ? -3 : -2),
        createdAt: longAgo(),
      })),
    ),
  async claim(clock) {
    const answer = Promise.withResolvers<Awaited<ReturnType<HttpProbe>>>()
    const worker = runner(clock, () => answer.promise, 1)
    if ((await worker.claim()) === 0) return undefined
    const runs = async () => (await database.db.select().from(tables.checks))[0]!.runCount
    return {
      async write() {
        const before = await runs()
        answer.resolve({ kind: 'answered', status: 200, timeMs: 1, body: '', isPrivate: false })
        await worker.nextResult()
        await worker.settle()
        return (await runs()) > before
      },
      giveBack: () => worker.release(),
    }
  },
  expire: () => expireCheckClaims(storage()),
  fairly: {
    turns: 1,
    crowd: (orgId, n) => check.make(orgId, n),
    async turn() {
      await runner(now, () => new Promise(() => {}), 4).claim()
      return idsIn(tables.checks, 'claim is not null')
    },
  },
}

const dataSource = (orgId: string, id: string) => ({
  orgId,
  id,
  name: id,
  title: 'Shop',
  kind: 'embedded' as const,
  sealed: '',
  createdAt: longAgo(),
})

const load: Leased = {
  table: tables.loads,
  until: 'lease_until',
  seconds: 30,
  becomes: 'free',
  isRenewed: true,
  isGivenBack: true,
  async make(orgId, n) {
    const source = { ...dataSource(orgId, 'source'), name: 'shop' }
    await database.db.insert(tables.dataSources).values(source).onConflictDoNothing()
    await insert(
      tables.loads,
      ...many(n, (id) => ({
        orgId,
        id,
        sourceId: 'source',
        filename: 'file.csv',
        format: 'csv',
        bytes: 1,
        sha256: '',
        state: 'running',
        phase: 'reading',
        createdBy: 'usr',
        createdByName: 'Somebody',
        createdAt: longAgo(),
        updatedAt: longAgo(),
      })),
    )
  },
  async claim(clock) {
    const claimed = await claimLoad(storage(clock))
    return (
      claimed && {
        write: async () => (await saveStep(storage(clock), claimed, { rows: 1 })) !== undefined,
        renew: () => renewLease(storage(clock), claimed),
        giveBack: () => releaseLoad(storage(clock), claimed),
      }
    )
  },
  // Whoever claims next takes it.
  expire: async () => {},
  fairly: {
    turns: 2,
    crowd: (orgId, n) => load.make(orgId, n),
    async turn() {
      const claimed = await claimLoad(storage())
      await releaseLoad(storage(), claimed!)
      return [claimed!.orgId]
    },
  },
}

const maintenanceRun: Leased = {
  table: tables.appLeases,
  until: 'expires_at',
  seconds: SECONDS,
  becomes: 'ended',
  endsByItself: true,
  isRenewed: true,
  isGivenBack: true,
  async make(orgId, n) {
    const apps = many(n, (id) => ({ orgId, id, alias: id, name: id, createdAt: longAgo() })) as {
      id: string
    }[]
    await insert(tables.apps, ...apps)
    await insert(tables.appLeases, ...apps.map(({ id }) => ({ orgId, appId: id })))
    await insert(
      tables.maintenanceRuns,
      ...apps.map(({ id }) => ({
        orgId,
        id: `exec-${id}`,
        appId: id,
        status: 'queued',
        mode: 'manual',
        model: RULES_MODEL,
        createdAt: daysFromNow(orgId === CROWDED ? -0.1 : 0),
      })),
    )
  },
  async claim(clock = now) {
    const claimed = await claimRun(storage(clock), { claimId: randomUUID(), models: [RULES_MODEL] })
    if (!claimed) return undefined
    const { key } = claimed
    return {
      write: () => succeeds(withTransaction(database.db, (tx) => underLease(tx, key))),
      renew: () => succeeds(renewRunLease(database.db, key)),
      giveBack: () => withTransaction(database.db, (tx) => endRun(tx, clock, key, async () => 'again')),
    }
  },
  expire: (clock) => expireRuns(looking(clock)),
  fairly: {
    turns: 2,
    crowd: (orgId, n) => maintenanceRun.make(orgId, n),
    async turn() {
      const claimed = await claimRun(storage(), { claimId: randomUUID(), models: [RULES_MODEL] })
      return [claimed!.key.orgId]
    },
  },
}

const message: Leased = {
  table: tables.messages,
  until: 'lease_until',
  seconds: SECONDS,
  becomes: 'free',
  endsByItself: true,
  isGivenBack: true,
  make: (orgId, n) =>
    insert(
      tables.messages,
      ...many(n, (id) => ({
        orgId,
        id,
        channel: 'webhook',
        target: id,
        state: 'pending',
        nextAt: daysFromNow(orgId === CROWDED ? -3 : -2),
        createdAt: longAgo(),
      })),
    ),
  async claim(clock) {
    const claimer = { worker: randomUUID(), leaseSeconds: SECONDS }
    const { claimed } = await claimMessages(storage(clock), claimer)
    if (claimed.length === 0) return undefined
    return {
      async write() {
        const { started } = await finishAndStartAttempts(storage(clock), claimer, [], [claimed])
        return started.length > 0
      },
      giveBack: () => releaseClaims(storage(clock), claimer.worker),
    }
  },
  expire: (clock) => expireLeases(looking(clock)),
  fairly: {
    turns: 1,
    crowd: (orgId, n) => message.make(orgId, n),
    async turn() {
      const { claimed } = await claimMessages(storage(), { worker: 'worker', leaseSeconds: SECONDS })
      return [...new Set(claimed.map(({ orgId }) => orgId))]
    },
  },
}

/** A message that may have left: nobody sends it again. */
const attempt: Leased = {
  table: tables.messages,
  until: 'lease_until',
  seconds: SECONDS,
  becomes: 'ended',
  make: message.make,
  async claim(clock = now) {
    const claimer = { worker: randomUUID(), leaseSeconds: SECONDS }
    const { claimed } = await claimMessages(storage(clock), claimer)
    if (claimed.length === 0) return undefined
    const { started } = await finishAndStartAttempts(storage(clock), claimer, [], [claimed])
    const facts = { now: clock(), durationMs: 1, jitter: 0, isShared: false, response: null }
    const sent = attemptResult(
      { ...started[0]!, channel: 'webhook', integrationId: null, isRepeatable: false },
      { kind: 'sent', httpStatus: 200 },
      facts,
    )
    return {
      async write() {
        const { ended } = await finishAndStartAttempts(storage(clock), claimer, [sent], [])
        return ended.length > 0
      },
    }
  },
  expire: message.expire,
}

const job: Leased = {
  table: tables.jobs,
  until: 'lease_until',
  seconds: SECONDS,
  becomes: 'free',
  make: () => insert(tables.jobs, { name: 'a job', nextRunAt: longAgo() }),
  async claim(clock) {
    const [begun, mayEnd] = [Promise.withResolvers<true>(), Promise.withResolvers<void>()]
    const ended = runIfDue(
      { ...storage(clock), log: { ...log, error: log.warn } as never, metrics: undefined },
      {
        name: 'a job',
        everySeconds: 60 * 60,
        leaseSeconds: SECONDS,
        run() {
          begun.resolve(true)
          return mayEnd.promise
        },
      },
      new AbortController().signal,
      async () => storage(clock).clock,
    )
    running.add(() => {
      mayEnd.resolve()
      return ended
    })
    if (!(await Promise.race([begun.promise, ended]))) return undefined
    const nextRun = async () => (await database.db.select().from(tables.jobs))[0]!.nextRunAt
    return {
      async write() {
        const before = await nextRun()
        mayEnd.resolve()
        await ended
        return (await nextRun()) > before
      },
    }
  },
  expire: async () => {},
}

const pullRequest: Leased = {
  table: tables.pullRequests,
  until: 'lease_until',
  seconds: 300,
  becomes: 'free',
  make: (orgId, n) =>
    insert(
      tables.pullRequests,
      ...many(n, (id) => ({
        orgId,
        id,
        appId: `app-${orgId}`,
        ordinal: 1,
        state: 'opening',
        requestedAt: longAgo(),
        nextAt: longAgo(),
      })),
    ),
  async claim(clock) {
    const claimed = await claimPullRequest(storage(clock))
    if (!claimed) return claimed
    return {
      async write() {
        let isWritten = false
        await settlePullRequest(storage(clock), claimed, async () => void (isWritten = true))
        return isWritten
      },
    }
  },
  // Whoever claims next takes it.
  expire: async () => {},
  fairly: {
    turns: 2,
    crowd: (orgId, n) => pullRequest.make(orgId, n),
    turn: async () => [(await claimPullRequest(storage()))!.orgId],
  },
}

const trailStream: Leased = {
  table: tables.trailStreams,
  until: 'lease_until',
  seconds: 120,
  becomes: 'free',
  make: (orgId, n) =>
    insert(
      tables.trailStreams,
      ...many(n, (id) => ({
        orgId,
        id,
        kind: 'webhook',
        host: 'collector.test',
        sealed: '',
        createdAt: longAgo(),
        createdBy: 'usr',
        afterEpoch: TRAIL_BEGIN.epoch,
        afterRow: TRAIL_BEGIN.row,
        nextAt: daysFromNow(orgId === CROWDED ? -3 : -2),
        failures: 0,
      })),
    ),
  async claim(clock) {
    const claimed = await claimStream(storage(clock))
    if (!claimed) return undefined
    const next = async () => {
      const [row] = await database.db
        .select({ at: tables.trailStreams.nextAt })
        .from(tables.trailStreams)
        .where(eq(tables.trailStreams.id, claimed.id))
      return row!.at.getTime()
    }
    return {
      async write() {
        const before = await next()
        // Of a trail without rows there is nothing to send.
        await sendPage({ ...storage(), dataKeys: KEYS, channels: undefined as never }, claimed)
        return (await next()) > before
      },
    }
  },
  // Whoever claims next takes it.
  expire: async () => {},
  fairly: {
    turns: 2,
    crowd: (orgId, n) => trailStream.make(orgId, n),
    turn: async () => [(await claimStream(storage()))!.orgId],
  },
}

/** Known by the end of their lease. */
const created = new Set<Date>()

/** One that somebody began to create and did not finish. */
const managedDatabase: Leased = {
  table: tables.dataSources,
  until: 'preparing_until',
  seconds: 120,
  becomes: 'free',
  ends: () => created,
  make: (orgId, n) =>
    insert(
      tables.dataSources,
      ...many(n, (id) => ({ ...dataSource(orgId, id), name: 'shop', preparingUntil: longAgo() })),
    ),
  async claim(clock) {
    const creator = { kind: 'user', orgId: ORG, userId: 'usr', userName: 'Somebody' } as MemberPrincipal
    const deps = { ...storage(clock), managed: { kind: 'embedded' } as ManagedDatabases }
    const claimed = await resumeCreation(deps, creator, { name: 'shop', documents: null })
    if (!claimed) return undefined
    created.add(claimed.preparingUntil!)
    return { write: () => succeeds(database.db.transaction((tx) => markReady(tx, claimed))) }
  },
  // Whoever asks for it again goes on with it.
  expire: async () => {},
}

const LEASED = {
  'a deployment': deployment,
  'a pipeline run': pipelineRun,
  'a check': check,
  'a load': load,
  'a maintenance run': maintenanceRun,
  'a pull request': pullRequest,
  'a message': message,
  'an attempt': attempt,
  'a recurring job': job,
  'a stream of the trail': trailStream,
  'a managed database': managedDatabase,
} satisfies Record<string, Leased>

describe.each(Object.entries<Leased>(LEASED))('%s', (_, leased) => {
  /** For the lease alone: no clock moves. */
  const age = async (seconds: number) => {
    await database.db.execute(
      sql.raw(`update ${getTableName(leased.table)}
        set ${leased.until} = ${leased.until} - interval '${seconds} seconds'`),
    )
    for (const end of leased.ends?.() ?? []) end.setTime(end.getTime() - seconds * 1000)
  }
  const made = async (clock?: Clock): Promise<Held> => {
    await leased.make(ORG, 1)
    return (await leased.claim(clock))!
  }

  test('of eight that claim it at once, one has it', async () => {
    await leased.make(ORG, 1)
    const claims = await Promise.all(Array.from({ length: 8 }, () => leased.claim()))
    const held = claims.filter((one) => one !== undefined)
    expect(held).toHaveLength(1)
    expect(await held[0]!.write()).toBe(true)
  })

  test('is nobody else’s while it is held', async () => {
    const held = await made()
    await age(leased.seconds - 5)
    await leased.expire()
    expect(await leased.claim()).toBeUndefined()
    expect(await held.write()).toBe(true)
  })

  // Work of other kinds has no such transition.
  test.runIf(leased.isRenewed)('is held for as long as it is renewed', async () => {
    const held = await made()
    for (let times = 0; times < 3; times++) {
      await age(leased.seconds - 5)
      expect(await held.renew!()).toBe(true)
    }
    await leased.expire()
    expect(await leased.claim()).toBeUndefined()
    expect(await held.write()).toBe(true)
  })

  test('is lost to whoever was not heard from in time, and what they still do is refused', async () => {
    const lost = await made()
    await age(leased.seconds + 1)
    await leased.expire()
    const other = await leased.claim()
    expect(other !== undefined).toBe(leased.becomes === 'free')
    if (lost.renew) expect(await lost.renew()).toBe(false)
    expect(await lost.write()).toBe(false)
    if (other) expect(await other.write()).toBe(true)
  })

  // Work of other kinds has no such transition.
  test.runIf(leased.endsByItself)('is lost when it is over, also before anybody has noticed', async () => {
    const lost = await made()
    await age(leased.seconds + 1)
    expect([await lost.renew?.(), await lost.write()]).toEqual([lost.renew && false, false])
  })

  // Work of other kinds has no such transition.
  test.runIf(leased.isRenewed && !leased.endsByItself)(
    'is renewed also late, as long as nobody has noticed',
    async () => {
      const held = await made()
      await age(leased.seconds + 1)
      expect(await held.renew!()).toBe(true)
      await leased.expire()
      expect(await leased.claim()).toBeUndefined()
      expect(await held.write()).toBe(true)
    },
  )

  // Work of other kinds has no such transition.
  test.runIf(leased.isGivenBack)('that was given back is another’s', async () => {
    const first = await made()
    await first.giveBack!()
    const second = (await leased.claim())!
    expect(await first.write()).toBe(false)
    expect(await second.write()).toBe(true)
  })

  test('is not over by the clock of a process, be it ahead or behind', async () => {
    // By its own clock what it holds is over long ago.
    const held = await made(behind)
    await leased.expire(ahead)
    expect([await leased.claim(ahead), await leased.claim(now)]).toEqual([undefined, undefined])
    expect(await held.write()).toBe(true)
  })

  test('is over by the database’s clock, also for a process whose own is behind', async () => {
    const lost = await made(ahead)
    await age(leased.seconds + 1)
    await leased.expire(behind)
    expect((await leased.claim(ahead)) !== undefined).toBe(leased.becomes === 'free')
    expect(await lost.write()).toBe(false)
  })

  test('that a lost tail has forgotten is another’s, and whoever was given it before writes nothing', async () => {
    await leased.make(ORG, 1)
    const forget = await remember(leased.table)
    const forgotten = (await leased.claim())!
    await forget()
    await database.db.transaction((tx) =>
      updateTimeline(
        tx,
        (before) => wentBack(before, { timeline: null, changes: before.changes, now: now() }),
        newTimeline(now()),
      ),
    )
    const held = (await leased.claim())!
    if (forgotten.renew) expect(await forgotten.renew()).toBe(false)
    expect(await forgotten.write()).toBe(false)
    if (held.renew) expect(await held.renew()).toBe(true)
    expect(await held.write()).toBe(true)
  })

  // Of one kind it shows in every run, because filling the others takes longer than all else.
  const isFair = leased.fairly && (leased === deployment || inject('everyCase'))
  test.runIf(isFair)('of one organization does not wait for hundreds of another', async () => {
    await leased.fairly!.crowd(CROWDED, 300)
    await leased.fairly!.crowd(ORG, 1)
    const served = new Set<string>()
    for (let nth = 0; nth < leased.fairly!.turns; nth++)
      for (const orgId of await leased.fairly!.turn()) served.add(orgId)
    expect([...served].toSorted()).toEqual(ORGS.toSorted())
  })
})

test('of the loads of an organization one is worked on at a time', async () => {
  for (const orgId of ORGS) await load.make(orgId, 2)
  const claimed = [await claimLoad(storage()), await claimLoad(storage()), await claimLoad(storage())]
  expect(new Set(claimed.map((one) => one?.orgId))).toEqual(new Set([...ORGS, undefined]))
  await releaseLoad(storage(), claimed[0]!)
  expect((await claimLoad(storage()))?.orgId).toBe(claimed[0]!.orgId)
})

test('a load that waits for its time is worked on then, whatever a process takes for the time, and others meanwhile', async () => {
  for (const orgId of ORGS) await load.make(orgId, 1)
  const waitUntil = (waitsUntil: Date) =>
    database.db.update(tables.loads).set({ waitsUntil }).where(eq(tables.loads.orgId, ORG))
  await waitUntil(daysFromNow(1))
  const inTwoDays = storage(() => daysFromNow(2))
  const claimed = [await claimLoad(storage()), await claimLoad(storage()), await claimLoad(inTwoDays)]
  expect(claimed.map((one) => one?.orgId)).toEqual([CROWDED, undefined, undefined])
  await waitUntil(longAgo())
  expect((await claimLoad(storage()))?.orgId).toBe(ORG)
})

test('of the streams of an organization one sends at a time, and those of others meanwhile', async () => {
  for (const orgId of ORGS) await trailStream.make(orgId, 2)
  const claimed = [await claimStream(storage()), await claimStream(storage()), await claimStream(storage())]
  expect(new Set(claimed.map((one) => one?.orgId))).toEqual(new Set([...ORGS, undefined]))
})

test.skipIf(hasOneConnection)(
  'of two claims that choose different streams of an organization at the same moment, one has its own',
  async () => {
    const { db } = database
    for (const orgId of ORGS) await trailStream.make(orgId, 2)
    const streams = await db.select().from(tables.trailStreams)
    const of = (whose: string) => streams.filter(({ orgId }) => orgId === whose)
    const claim = (stream: (typeof streams)[number]) => {
      const choosing = new Proxy(db, {
        get: (target, name) => (name === 'execute' ? async () => [stream] : Reflect.get(target, name)),
      })
      return claimStream({ db: choosing, clock: now })
    }
    const claims: Promise<object | undefined>[] = []
    await db.transaction(async (tx) => {
      await tx
        .select()
        .from(tables.trailStreams)
        .where(eq(tables.trailStreams.id, of(ORG)[0]!.id))
        .for('update')
      claims.push(claim(of(ORG)[0]!))
      await untilLocked(db, 1)
      claims.push(claim(of(ORG)[1]!))
      // The other organization waits for neither.
      expect(await claim(of(CROWDED)[0]!)).toBeDefined()
      await untilLocked(db, 2)
    })
    const claimed = await Promise.all(claims)
    expect(claimed.filter((one) => one !== undefined)).toHaveLength(1)
  },
)

test('of an organization of which no more is wanted nothing takes the place of others', async () => {
  for (const orgId of ORGS) await message.make(orgId, 2 * CLAIM.rows)
  const room = () => ({
    full: [`${CROWDED} webhook`],
    hasRoom: true,
    take: ({ orgId }: { orgId: string }) => (orgId === CROWDED ? ('later' as const) : ('go' as const)),
    takeProbe: () => 'wait' as const,
    hangs: () => false,
  })
  const { claimed } = await claimMessages(storage(), { worker: 'worker', leaseSeconds: SECONDS, room })
  expect(claimed.map(({ orgId }) => orgId)).toEqual(Array.from({ length: CLAIM.rows }, () => ORG))
})

// What waits for a target that hangs is postponed, and what could go is behind it.
test('a claim that takes only the share of an organization says that there is more', async () => {
  const room = () => ({
    full: [],
    hasRoom: true,
    take: () => 'hangs' as const,
    takeProbe: () => 'wait' as const,
    hangs: () => true,
  })
  const claim = () => claimMessages(storage(), { worker: 'worker', leaseSeconds: SECONDS, room })
  await message.make(CROWDED, CLAIM.rows + 1)
  await message.make(ORG, 1)
  const share = CLAIM.rows / ORGS.length
  expect(await claim()).toEqual({ claimed: [], due: share + 1, hasMore: true })
  expect(await claim()).toEqual({ claimed: [], due: share + 1, hasMore: false })
  expect(await claim()).toEqual({ claimed: [], due: 0, hasMore: false })
})

// Of another worker, whose commit waits for a standby that hangs: the loop pauses instead of asking again at once.
test.runIf(inject('engine') === 'postgres')(
  'a claim of nothing but what others have locked says that there is no more',
  async () => {
    const claim = () => claimMessages(storage(), { worker: 'worker', leaseSeconds: SECONDS })
    for (const orgId of ORGS) await message.make(orgId, CLAIM.rows)
    await database.db.transaction(async (tx) => {
      await tx.execute(sql`select from messages where state = 'pending' for update`)
      expect(await claim()).toEqual({ claimed: [], due: CLAIM.rows, hasMore: false })
    })
    const { claimed, hasMore } = await claim()
    expect([new Set(claimed.map(({ orgId }) => orgId)), hasMore]).toEqual([new Set(ORGS), true])
  },
)

// A worker that thaws writes what another one ends for it at the same moment, and neither knows the other's order.
test('answers that two write at once, each in an order of its own, count once', async () => {
  const claimer = { worker: 'worker', leaseSeconds: SECONDS }
  const facts = { now: now(), durationMs: 1, jitter: 0, isShared: false, response: null }
  for (let round = 0; round < 10; round++) {
    for (const orgId of ORGS) await message.make(orgId, 40)
    const { claimed } = await claimMessages(storage(), claimer)
    const { started } = await finishAndStartAttempts(
      storage(),
      claimer,
      [],
      claimed.map((one) => [one]),
    )
    const results = started.map((one) =>
      attemptResult(
        { ...one, channel: 'webhook', integrationId: null, isRepeatable: false },
        { kind: 'sent', httpStatus: 200 },
        facts,
      ),
    )
    const written = await Promise.all(
      [results, results.toReversed()].map((some) => finishAndStartAttempts(storage(), claimer, some, [])),
    )
    expect(new Set(started.map(({ orgId }) => orgId)).size).toBe(2)
    expect(written.flatMap(({ ended }) => ended)).toHaveLength(started.length)
  }
})

test('an attempt that cannot be ended keeps no other one waiting, and is told of', async () => {
  const { db } = database
  for (const orgId of ORGS) await message.make(orgId, 2)
  while ((await attempt.claim()) !== undefined);
  await db.update(tables.messages).set({ leaseUntil: longAgo() })
  const [broken] = await db.select().from(tables.messages).where(eq(tables.messages.orgId, ORG)).limit(1)
  await db.execute(
    sql.raw(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'cannot be ended'; end $$`),
  )
  await db.execute(
    sql.raw(`create trigger refused before update on messages for each row
    when (old.id = '${broken!.id}') execute function refuse()`),
  )
  const warned: unknown[] = []
  const unended: Unended = new Map()
  const turn = async (seconds: number) => {
    const clock = shifted(seconds / 3600)
    await expireLeases(
      { ...storage(clock), log: { warn: (_event, fields) => void warned.push(fields) } },
      unended,
    )
    const left = await db.select().from(tables.messages).where(eq(tables.messages.state, 'sending'))
    expect(left.map(({ id }) => id)).toEqual([broken!.id])
    return warned.length
  }
  try {
    expect(await turn(0)).toBe(1)
    expect(warned).toMatchObject([{ message: broken!.id, againMs: 250 }])
    // Meanwhile it is left alone, and another one is ended at its time.
    await message.make(ORG, 1)
    while ((await attempt.claim()) !== undefined);
    await db
      .update(tables.messages)
      .set({ leaseUntil: longAgo() })
      .where(and(eq(tables.messages.state, 'sending'), ne(tables.messages.id, broken!.id)))
    expect(await turn(0.2)).toBe(1)
    expect([await turn(0.3), await turn(0.7), await turn(0.9)]).toEqual([2, 2, 3])
    // An hour each.
    for (let hour = 1; hour <= 8; hour++) expect(await turn(hour * 3600)).toBe(3 + hour)
    expect(warned.at(-1)).toMatchObject({ againMs: 30_000 })
  } finally {
    await db.execute(sql`drop trigger refused on messages`)
    await db.execute(sql`drop function refuse()`)
  }
  await expireLeases({ ...storage(shifted(9)), log }, unended)
  expect(await db.select().from(tables.messages).where(eq(tables.messages.state, 'sending'))).toEqual([])
  expect(unended.size).toBe(0)
})

test('what cannot be handled keeps nothing of its own organization waiting, however much it is', async () => {
  const { db } = database
  await db.execute(sql`create table due (org_id text, id text, place int)`)
  const fill = (orgId: string, word: string, count: number) =>
    db.execute(
      sql`insert into due select ${orgId}, ${word}::text || n, n from generate_series(1, ${count}::int) n`,
    )
  // With the three of the other organization more than one turn has.
  await fill('org_one', 'broken', 100)
  await fill('org_one', 'later', 3)
  await db.execute(sql`update due set place = 1000 where id like 'later%'`)
  await fill('org_two', 'fine', 3)
  const warned: unknown[] = []
  const handled = await handleInTurns(
    { db, log: { warn: (_event, fields) => void warned.push(fields) } },
    {
      rows: sql`select org_id as "orgId", id, place from due`,
      warning: 'one was not handled',
      named: 'due',
      async handle(tx, { orgId, id }) {
        if (id.startsWith('broken')) throw new Error('cannot be handled')
        await tx.execute(sql`delete from due where org_id = ${orgId} and id = ${id}`)
        return true
      },
    },
  )
  expect([handled, warned.length]).toEqual([6, 100])
  const left = await db.execute<{ id: string }>(sql`select id from due where id not like 'broken%'`)
  expect(left).toEqual([])
})
