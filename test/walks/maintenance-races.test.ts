/** What two may do at one moment to the maintenance of an app, on connections of their own. */
import type { SQL } from 'drizzle-orm'
import { and, eq, ne, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import {
  findings,
  maintenanceRuns,
  maintenanceSettings,
  proposals,
  runSteps,
  tokenPools,
} from '../../db/schema.ts'
import {
  startMaintenanceRun,
  showMaintenanceUsage,
  listMaintenanceRuns,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import {
  dispatchSlots,
  expireRuns,
  Fenced,
  reserveRunTokens,
  settleRunTokens,
  underLease,
  type RunKey,
} from '../../src/cores/maintenance/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import {
  claimNextRun,
  endAs,
  endEverything,
  makeMaintainedApp,
  storageOf,
  turnOn,
} from '../support/maintenance.ts'
import {
  agentOf,
  find,
  linesRead,
  logRead,
  MODEL,
  MODELS,
  propose,
  read,
  startRun,
} from '../support/proposals.ts'
import { archiveOf } from '../support/source.ts'
import { untilLocked } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ...MODELS })
})
afterAll(() => system.stop())
beforeEach(() => endEverything(system))

async function maintained(settings: object = {}) {
  const org: Org = await makeOrganization(system)
  await turnOn(org, { cooldown_hours: 0, token_allowance: 10_000, ...settings })
  return { org, app: await makeMaintainedApp(org), by: org.owner.call }
}

const log = {
  warn(event: string, fields?: object) {
    throw new Error(event, { cause: fields })
  },
}
const times = <T>(n: number, work: (nth: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, nth) => work(nth)))

const step = (run: RunKey, number: number) => ({
  orgId: run.orgId,
  executionId: run.executionId,
  number,
  tool: 'read_file',
  result: 'ok',
  requestSha256: '',
  resultSha256: '',
  ms: 0,
  at: system.clock.now(),
})

/** True: written. False: refused because the run does not hold the app any more. */
const write = (run: RunKey, number: number): Promise<boolean> =>
  isWritten(
    withTransaction(system.db, async (tx) => {
      await underLease(tx, run)
      await tx.insert(runSteps).values(step(run, number))
      // Whoever turns it off waits for this write: until its end the run is what it was.
      const [seen] = await tx
        .select({ status: maintenanceRuns.status })
        .from(maintenanceRuns)
        .where(eq(maintenanceRuns.id, run.executionId))
      expect(seen!.status).toBe('running')
    }),
  )

const isWritten = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (error instanceof Fenced) return false
      throw error
    },
  )

/**
 * The first is held in its midst by this lock when the second begins, which has to wait for it. The embedded engine has one
 * session: there one comes after the other anyway.
 */
async function inOrder<A, B>(
  lock: SQL,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<readonly [A, B]> {
  if (inject('engine') === 'pglite') return [await first(), await second()]
  const isHeld = Promise.withResolvers<void>()
  const isOver = Promise.withResolvers<void>()
  const held = withTransaction(system.db, async (tx) => {
    await tx.execute(lock)
    isHeld.resolve()
    await isOver.promise
  })
  await Promise.race([isHeld.promise, held])
  try {
    const one = first()
    await untilLocked(system.db, 1)
    const both = Promise.all([one, second()])
    await untilLocked(system.db, 2)
    isOver.resolve()
    return await both
  } finally {
    isOver.resolve()
    await held
  }
}
/** What ends a run changes it, and so does what counts its tokens. */
const itself = ({ executionId }: RunKey) =>
  sql`select 1 from maintenance_runs where id = ${executionId} for update`

const stepsOf = async ({ executionId }: RunKey) =>
  (await system.db.select().from(runSteps).where(eq(runSteps.executionId, executionId))).length

/** Its findings and proposals. */
const madeBy = async ({ executionId }: RunKey) => [
  (await system.db.select().from(findings).where(eq(findings.executionId, executionId))).length,
  (await system.db.select().from(proposals).where(eq(proposals.executionId, executionId))).length,
]

test('a key that 40 use at once starts one run', async () => {
  const { app, by } = await maintained()
  const asked = { alias: app.alias, idempotency_key: unique('key') }
  const started = await times(40, () => by(startMaintenanceRun, asked))
  expect(new Set(started.map(({ execution_id }) => execution_id)).size).toBe(1)
  expect(started.filter(({ replayed }) => !replayed)).toHaveLength(1)
  expect((await by(listMaintenanceRuns, { alias: app.alias })).runs).toHaveLength(1)
})

test('of 40 that start one at once, one holds the app and the others are skipped', async () => {
  const { app, by } = await maintained()
  const started = await times(40, () => by(startMaintenanceRun, { alias: app.alias }))
  expect(started.filter(({ status }) => status === 'queued')).toHaveLength(1)
  expect(started.filter(({ outcome }) => outcome === 'skipped')).toHaveLength(39)
})

test('of five processes that dispatch at once, each night of an app has one run', async () => {
  const made = [await maintained(), await maintained()]
  const { db } = system
  const now = system.clock.now()
  await db.update(maintenanceSettings).set({ nextSlotAt: now }).where(eq(maintenanceSettings.enabled, true))
  const dispatched = await times(5, () =>
    dispatchSlots({ db, clock: () => new Date(now.getTime() + 1_000), log }),
  )
  expect(dispatched.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(2)
  for (const { org } of made) {
    const runs = await db.select().from(maintenanceRuns).where(eq(maintenanceRuns.orgId, org.id))
    expect(runs.map(({ status }) => status)).toEqual(['queued'])
  }
})

test('300 reservations at once never exceed the allowance, and what is settled balances', async () => {
  const { org, app, by } = await maintained()
  await by(startMaintenanceRun, { alias: app.alias })
  const run = await claimNextRun(system)
  const reserved = (await times(300, () => reserveRunTokens(storageOf(system), run, 70))).flatMap(
    ({ id }) => id ?? [],
  )
  expect(reserved).toHaveLength(Math.floor(10_000 / 70))
  await Promise.all(reserved.map((id) => settleRunTokens(system.db, run, id, 30)))
  const { today, run_tokens } = await by(showMaintenanceUsage, { org_id: org.id })
  expect(today).toMatchObject({ spent: 30 * reserved.length, reserved: 0 })
  expect(run_tokens).toBe(30 * reserved.length)
})

describe('turned off while a run writes', () => {
  type Scene = Awaited<ReturnType<typeof maintained>>
  const OFF: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
    'its app': ({ by, app }) => by(updateAppMaintenance, { alias: app.alias, enabled: false }),
    'its organization': ({ by, org }) => by(updateMaintenanceSettings, { org_id: org.id, enabled: false }),
  }

  describe.each(Object.entries(OFF))('by %s', (_what, turnOff) => {
    async function running() {
      const scene = await maintained()
      await scene.by(startMaintenanceRun, { alias: scene.app.alias })
      const run = await claimNextRun(system)
      const { id } = await reserveRunTokens(storageOf(system), run, 10)
      return {
        run,
        off: () => turnOff(scene),
        settle: () => settleRunTokens(system.db, run, id!, 4),
        /** What counts of its tokens; and nothing comes later. */
        tokens: async () => {
          const written = await stepsOf(run)
          expect(await write(run, 2)).toBe(false)
          expect(await stepsOf(run)).toBe(written)
          await expect(endAs(system, run, 'proposed')).rejects.toThrow(Fenced)
          const [row] = await system.db
            .select()
            .from(maintenanceRuns)
            .where(and(eq(maintenanceRuns.orgId, run.orgId), eq(maintenanceRuns.id, run.executionId)))
          expect(row).toMatchObject({ status: 'ended', terminalCode: 'fenced_disabled' })
          const [pool] = await system.db.select().from(tokenPools).where(eq(tokenPools.orgId, run.orgId))
          expect(pool).toMatchObject({ reserved: 0, overage: 0 })
          return row!.tokens
        },
      }
    }

    test('a write that came before is there', async () => {
      const { run, off, tokens } = await running()
      const lock = sql`lock table run_steps in share row exclusive mode`
      const [wrote] = await inOrder(lock, () => write(run, 1), off)
      expect([wrote, await stepsOf(run)]).toEqual([true, 1])
      expect(await tokens()).toBe(10)
    })

    test('nothing is there of a write that came after', async () => {
      const { run, off, tokens } = await running()
      const [, wrote] = await inOrder(itself(run), off, () => write(run, 1))
      expect([wrote, await stepsOf(run)]).toEqual([false, 0])
      expect(await tokens()).toBe(10)
    })

    test('what a question used counts when that was known before, and all that was reserved otherwise', async () => {
      const before = await running()
      expect((await inOrder(itself(before.run), before.settle, before.off))[0]).toBe(true)
      expect(await before.tokens()).toBe(4)
      const after = await running()
      expect((await inOrder(itself(after.run), after.off, after.settle))[1]).toBe(false)
      expect(await after.tokens()).toBe(10)
    })
  })

  test('a finding or a proposal that came before is there, and nothing of one that came after', async () => {
    const { app, by } = await maintained({ model: MODEL })
    const agent = agentOf(system)
    onTestFinished(() => agent.close())
    const source = 'export const sum = 1\n'
    await by(pushRevision, { alias: app.alias, body: archiveOf({ 'src/sum.js': source }) })
    const lines = linesRead('src/sum.js', source.trimEnd())
    const off = () => by(updateAppMaintenance, { alias: app.alias, enabled: false })
    for (const what of ['finding', 'proposal']) {
      for (const when of ['before', 'after']) {
        await by(updateAppMaintenance, { alias: app.alias, enabled: true })
        const run = await startRun(system, by, app.alias)
        const line = logRead(`lgl_${what}${when}`.padEnd(29, '0'), `${what} ${when} failed`)
        await read(agent, run, lines, line)
        const tryTo = () =>
          isWritten(
            what === 'finding'
              ? find(agent, run, { kind: 'error', summary: 'x', evidence: [line.ref] })
              : propose(agent, run, {
                  evidence: [line.ref],
                  edits: [{ path: 'src/sum.js', old_text: 'sum = 1', new_text: `sum = ${when.length}` }],
                }),
          )
        const written = sql`lock table findings, proposals in share row exclusive mode`
        const [wrote] =
          when === 'before'
            ? await inOrder(written, tryTo, off)
            : (await inOrder(itself(run), off, tryTo)).toReversed()
        expect(wrote, `${what} ${when}`).toBe(when === 'before')
        const made = await madeBy(run)
        expect(made).toEqual(wrote ? [1, what === 'proposal' ? 1 : 0] : [0, 0])
        expect(await tryTo()).toBe(false)
        expect(await madeBy(run)).toEqual(made)
        // One for each app and day.
        await system.db.delete(proposals).where(eq(proposals.appId, app.id))
      }
    }
  })

  test('a run that ends while it is turned off, or lost, ends once', async () => {
    const { app, by } = await maintained()
    for (let n = 0; n < 15; n++) {
      await by(updateAppMaintenance, { alias: app.alias, enabled: true })
      await by(startMaintenanceRun, { alias: app.alias })
      const run = await claimNextRun(system)
      const [ended] = await Promise.allSettled([
        endAs(system, run, 'found_nothing'),
        by(updateAppMaintenance, { alias: app.alias, enabled: false }),
        expireRuns({ ...storageOf(system), log }),
      ])
      const [row] = await system.db
        .select()
        .from(maintenanceRuns)
        .where(eq(maintenanceRuns.id, run.executionId))
      expect(row!.terminalCode).toBe(ended.status === 'fulfilled' ? 'found_nothing' : 'fenced_disabled')
      const [told] = await system.db.execute<{ n: number }>(
        sql`select count(*)::int as n from outbox where subject = ${`maintenance-runs/${run.executionId}`}`,
      )
      expect(told!.n).toBe(ended.status === 'fulfilled' ? 1 : 0)
    }
  })

  test('a run that is started while it is turned off is skipped, fenced, or refused: never left open', async () => {
    const { app, by } = await maintained()
    for (let n = 0; n < 15; n++) {
      await by(updateAppMaintenance, { alias: app.alias, enabled: true })
      await Promise.allSettled([
        by(startMaintenanceRun, { alias: app.alias }),
        by(updateAppMaintenance, { alias: app.alias, enabled: false }),
      ])
      const open = await system.db
        .select()
        .from(maintenanceRuns)
        .where(and(eq(maintenanceRuns.appId, app.id), ne(maintenanceRuns.status, 'ended')))
      expect(open).toEqual([])
    }
  })
})
