/** How maintenance runs end when something happens at that moment, what they cost, and what is left of them. */
import { eq, inArray, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  maintenanceRuns,
  maintenanceSettings,
  modelOutages,
  outbox,
  runEvidence,
  runSteps,
} from '../../db/schema.ts'
import { AGENT_CALLS } from '../../src/contracts/agent-calls.ts'
import type { AnalystEnding } from '../../src/contracts/agent-tools.ts'
import {
  showAppMaintenance,
  showMaintenanceRun,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { doRun } from '../../src/agent-runner/do-run.ts'
import { concludeRun } from '../../src/cores/agent-tools/index.ts'
import { recordFinding } from '../../src/cores/findings/index.ts'
import { endRun, endUnconfigured, expireRuns, type RunKey } from '../../src/cores/maintenance/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { hasOneConnection } from '../support/left-out.ts'
import {
  agentRunner,
  AGENT_RUNNER_SECRET,
  claimRun,
  makeMaintainedApp,
  MODEL,
  MODELS_SETTING,
  toolHost,
  turnOf,
  type MaintainedApp,
} from '../support/maintained-app.ts'
import { endAs, endEverything, storageOf } from '../support/maintenance.ts'
import { sha256 } from '../support/source.ts'
import { statementsOf } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
    AGENT_RUNNER_SECRET,
    MAINTENANCE_MODELS: MODELS_SETTING,
  })
})
afterAll(() => system.stop())
beforeEach(() => endEverything(system))

const log = {
  warn(event: string, fields?: object) {
    throw new Error(event, { cause: fields })
  },
}

async function started(app: MaintainedApp) {
  const executionId = await app.start()
  const run = await claimRun(system)
  expect(run.execution_id).toBe(executionId)
  const [row] = await system.db.select().from(maintenanceRuns).where(eq(maintenanceRuns.id, executionId))
  const key = {
    orgId: row!.orgId,
    appId: row!.appId,
    executionId,
    fence: row!.fence!,
    startedAt: row!.startedAt!,
  }
  const call = (tool: string, input: object) =>
    toolHost(system)('callTool', { tool, arguments: JSON.stringify(input) }, { token: run.identity })
  const end = (ending: AnalystEnding) => toolHost(system)('endRun', { ending }, { token: run.identity })
  return { executionId, run, key, call, end }
}

const readFinding = { path: 'src/orders.js', start: 1, end: 3 }
const FINDING = { kind: 'error', summary: 'Breaks', evidence: ['file:src/orders.js#L2-L2'] } as const

/** The lease is lost: its agent runner was not heard from for longer than it lasts. */
const loseLease = ({ orgId, appId }: RunKey) =>
  system.db.execute(sql`update app_leases set expires_at = clock_timestamp() - interval '1 second'
    where org_id = ${orgId} and app_id = ${appId}`)

describe('what is read of a run', () => {
  test('is never its transcript or the text of its evidence, and not more than fits', async () => {
    const app = await makeMaintainedApp(system)
    const { executionId, key, call } = await started(app)
    await call('read_file', readFinding)
    const [of, at] = [{ orgId: key.orgId, executionId }, system.clock.now()]
    await system.db.insert(runEvidence).values(
      Array.from({ length: 250 }, (_, n) => ({
        ...of,
        ref: `log:${String(n).padStart(3, '0')}`,
        kind: 'log' as const,
        location: 'lgl_1',
        sha256: '0'.repeat(64),
        sealedText: 'sealed',
        pinned: n === 249,
        readAt: at,
      })),
    )
    const asked = { alias: app.alias, execution_id: executionId }
    let shown: Awaited<ReturnType<MaintainedApp['show']>> | undefined
    const statements = await statementsOf(system.db, async () => {
      shown = await app.call(showMaintenanceRun, asked)
    })
    const ofRun = statements.filter((text) => /run_steps|run_evidence/.test(text))
    expect(ofRun.length).toBeGreaterThanOrEqual(2)
    expect(ofRun.join('\n')).not.toContain('sealed')
    expect(shown!.evidence).toHaveLength(200)
    expect(shown!.evidence[0]).toMatchObject({ ref: 'log:249', pinned: true })
    expect(shown!.evidence_read).toBe(251)
    expect(shown!.steps).toHaveLength(1)
    const other = await makeMaintainedApp(system)
    await expect(other.call(showMaintenanceRun, { ...asked, alias: other.alias })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('of a long line that is found too little is shown to cite it', async () => {
    const app = await makeMaintainedApp(system, {
      tree: { 'dist/app.js': `needle${'x'.repeat(10_000)}\n`, 'src/a.js': 'needle\n' },
    })
    const { executionId, call } = await started(app)
    expect(await call('grep', { pattern: 'needle', literal: true })).toMatchObject({
      result: { matches: [{ path: 'dist/app.js' }, { path: 'src/a.js' }] },
    })
    const rows = await system.db.select().from(runEvidence).where(eq(runEvidence.executionId, executionId))
    expect(rows.map(({ ref }) => ref)).toEqual(['file:src/a.js#L1-L1'])
  })
})

describe('a call costs', () => {
  test.each<[tool: string, input: object, most: number, lines?: readonly object[]]>([
    ['finish', { conclusion: 'unsure' }, 1],
    // The lines that it was shown, and errors of which it was shown none.
    ['finish', { conclusion: 'nothing_found' }, 3, []],
    ['read_file', readFinding, 2],
    ['check_history', {}, 2],
    // The list of files, and their contents.
    ['grep', { pattern: 'total', literal: true }, 3],
    // The limit of time is sent with the search.
    ['log_groups', {}, 3],
    ['read_logs', { level: 'error' }, 3],
  ])(
    '%s with %j: %i statements, of which one asks for the lease and records it',
    async (tool, input, most, lines) => {
      const app = await makeMaintainedApp(system, lines && { lines })
      const { call } = await started(app)
      const statements = await statementsOf(system.db, async () => {
        expect(await call(tool, input)).toMatchObject({ kind: 'result' })
      })
      expect(statements).toHaveLength(most)
      const recording = statements.filter((text) => text.includes('run_steps'))
      expect(recording).toHaveLength(1)
      expect(recording[0]).toContain('app_leases')
    },
  )

  test('a question to the model: one statement before it, and one after', async () => {
    const { run, executionId } = await started(await makeMaintainedApp(system))
    const as = { token: run.identity }
    const call = toolHost(system)
    const statements = await statementsOf(system.db, async () => {
      const { reservation_id } = await call('reserveTokens', { amount: 700 }, as)
      const settled = {
        reservation_id: reservation_id!,
        tokens: null,
        outcome: 'answered' as const,
        ms: 5,
        said: 'x',
      }
      await call('settleTokens', { ...settled, request_sha256: sha256('asked') }, as)
    })
    expect(statements).toHaveLength(2)
    const steps = await system.db.select().from(runSteps).where(eq(runSteps.executionId, executionId))
    // What nobody knows is charged in full, and the timeline says so.
    expect(steps).toMatchObject([{ tool: null, tokens: 700, requestSha256: sha256('asked'), number: 1 }])
    const [row] = await system.db.select().from(maintenanceRuns).where(eq(maintenanceRuns.id, executionId))
    expect(row!.tokens).toBe(700)
  })

  test('an agent-runner of the version before settles without saying how it went', async () => {
    const [app, other] = [await makeMaintainedApp(system), await makeMaintainedApp(system)]
    const { run } = await started(app)
    const as = { token: run.identity }
    const call = toolHost(system)
    const failed = { model: run.model, failures: 1, failedAt: system.clock.now() }
    for (const { org } of [app, other])
      await system.db.insert(modelOutages).values({ ...failed, orgId: org.id })
    const left = async () =>
      (await system.db.select().from(modelOutages).where(eq(modelOutages.model, run.model))).flatMap(
        ({ orgId }) => [app.org.id, other.org.id].filter((id) => id === orgId),
      )
    const settle = async (tokens: number | null) => {
      const { reservation_id } = await call('reserveTokens', { amount: 100 }, as)
      const settled = { reservation_id: reservation_id!, tokens, ms: 1, said: '', request_sha256: sha256('') }
      await call('settleTokens', settled, as)
    }
    for (const tokens of [null, 0]) await settle(tokens)
    expect((await left()).toSorted()).toEqual([app.org.id, other.org.id].toSorted())
    await settle(10)
    expect(await left()).toEqual([other.org.id])
    // And its answer, without a word about outages.
    expect(AGENT_CALLS.reserveTokens.output.parse({ reservation_id: null })).toEqual({
      reservation_id: null,
      is_left_alone: false,
    })
  })

  test.skipIf(hasOneConnection)(
    'it waits for whoever turns the run off at this moment, and then nothing of it is there',
    async () => {
      const app = await makeMaintainedApp(system)
      const { key, run, call, executionId } = await started(app)
      const as = { token: run.identity }
      const { reservation_id } = await toolHost(system)('reserveTokens', { amount: 100 }, as)
      const settled = {
        reservation_id: reservation_id!,
        tokens: 10,
        outcome: 'answered' as const,
        ms: 1,
        said: '',
        request_sha256: sha256(''),
      }
      for (const [made, isRefused] of [
        [() => call('read_logs', { level: 'error' }), true],
        [() => toolHost(system)('reserveTokens', { amount: 100 }, as), true],
        // What was used is settled all the same, without a step.
        [() => toolHost(system)('settleTokens', settled, as), false],
      ] as const) {
        const [off, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const turning = withTransaction(system.db, async (tx) => {
          const { orgId, appId } = key
          await tx.execute(sql`update app_leases set execution_id = null, expires_at = null
            where org_id = ${orgId} and app_id = ${appId}`)
          off.resolve()
          await commit.promise
        })
        await off.promise
        const answered = made().then(
          () => 'done',
          (error: { code: string }) => error.code,
        )
        await untilSomebodyWaits()
        commit.resolve()
        await turning
        expect(await answered).toBe(isRefused ? 'UNAUTHENTICATED' : 'done')
        await system.db.execute(sql`update app_leases set execution_id = ${executionId},
          expires_at = clock_timestamp() + interval '1 minute' where org_id = ${key.orgId} and app_id = ${key.appId}`)
      }
      const steps = await system.db.select().from(runSteps).where(eq(runSteps.executionId, executionId))
      const read = await system.db.select().from(runEvidence).where(eq(runEvidence.executionId, executionId))
      expect([steps, read]).toEqual([[], []])
    },
  )

  test('nothing is shown or kept when the lease is lost while it reads', async () => {
    const app = await makeMaintainedApp(system)
    const { key, call, executionId } = await started(app)
    await loseLease(key)
    for (const [tool, input] of [
      ['read_file', readFinding],
      ['log_groups', {}],
      ['read_logs', { level: 'error' }],
    ] as const)
      await expect(call(tool, input)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await system.db.select().from(runSteps).where(eq(runSteps.executionId, executionId))).toEqual([])
    expect(
      await system.db.select().from(runEvidence).where(eq(runEvidence.executionId, executionId)),
    ).toEqual([])
  })
})

describe('the cool-down', () => {
  const cooling = async () => {
    const app = await makeMaintainedApp(system)
    await app.call(updateMaintenanceSettings, { org_id: app.org.id, cooldown_hours: 24 })
    return app
  }

  test('counts what used tokens and could not finish, and not what nobody could help', async () => {
    for (const [tokens, ending, isRefused] of [
      [500, { code: 'agent_error', reason: 'UNSURE' }, true],
      [0, { code: 'agent_error', reason: 'MODEL_UNAVAILABLE' }, false],
      [500, { code: 'lease_lost', reason: 'RUNNER_LOST' }, false],
      [0, { code: 'found_nothing' }, true],
    ] as const) {
      const app = await cooling()
      const { key, run } = await started(app)
      if (tokens > 0) {
        const as = { token: run.identity }
        const { reservation_id } = await toolHost(system)('reserveTokens', { amount: tokens }, as)
        const settled = {
          reservation_id: reservation_id!,
          tokens,
          outcome: 'answered' as const,
          ms: 1,
          said: '',
        }
        await toolHost(system)('settleTokens', { ...settled, request_sha256: sha256('') }, as)
      }
      await endAs(system, key, ending.code, ending)
      const again = app.start().then(
        () => 'started',
        (error: { code: string }) => error.code,
      )
      expect([ending, await again]).toEqual([ending, isRefused ? 'CONFLICT' : 'started'])
      const { manual_run_from } = await app.call(showAppMaintenance, { alias: app.alias })
      expect(manual_run_from !== null).toBe(isRefused)
      await endEverything(system)
    }
  })

  test.skipIf(hasOneConnection)('is not passed by whoever starts a run while another one ends', async () => {
    const app = await cooling()
    const { key } = await started(app)
    const ending = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const held = withTransaction(system.db, async (tx) => {
      await endRun(tx, () => system.clock.now(), key, { code: 'found_nothing' })
      ended.resolve()
      await ending.promise
    })
    await ended.promise
    const start = app.start().then(
      () => 'started',
      (error: { code: string }) => error.code,
    )
    await untilSomebodyWaits()
    ending.resolve()
    await held
    expect(await start).toBe('CONFLICT')
  })
})

async function untilSomebodyWaits(): Promise<void> {
  for (let looks = 0; looks < 500; looks++) {
    const [found] = await system.db.execute<{ n: number }>(
      sql`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (found!.n > 0) return
  }
  throw new Error('nobody waits')
}

describe('what a run wrote is its outcome', () => {
  const deps = () => ({ ...storageOf(system), dataKeys: dataKeys(system.system.config.DATA_KEY!) })

  test.skipIf(hasOneConnection)('also what it was still writing when it was ended', async () => {
    const app = await makeMaintainedApp(system)
    const { executionId, key, call } = await started(app)
    await call('read_file', readFinding)
    const [written, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = withTransaction(system.db, async (tx) => {
      await recordFinding(tx, deps(), key, { ...FINDING, evidence: [...FINDING.evidence] })
      written.resolve()
      await commit.promise
    })
    await written.promise
    const ended = concludeRun(storageOf(system), key, { kind: 'failed', reason: 'TIME_LIMIT' })
    await untilSomebodyWaits()
    commit.resolve()
    await writing
    expect(await ended).toBe('finding_recorded')
    expect(await app.show(executionId)).toMatchObject({ outcome: 'finding_recorded', summary: 'Breaks' })
  })

  test('also when it is lost; nobody was told, so the next run that finds it reports it', async () => {
    const app = await makeMaintainedApp(system)
    await app.call(updateMaintenanceSettings, { org_id: app.org.id, cooldown_hours: 720 })
    const lost = await started(app)
    await lost.call('read_file', readFinding)
    expect(await lost.call('record_finding', FINDING)).toMatchObject({ result: { is_known: false } })
    await loseLease(lost.key)
    expect(await expireRuns({ ...storageOf(system), log })).toBe(1)
    expect(await app.show(lost.executionId)).toMatchObject({
      terminal_code: 'lease_lost',
      summary: 'Breaks',
      fingerprint: expect.stringMatching(/^fp_/) as string,
    })
    const next = await started(app)
    await next.call('read_file', readFinding)
    expect(await next.call('record_finding', FINDING)).toMatchObject({ result: { is_known: false } })
    await next.end({ kind: 'finished' })
    expect(await app.show(next.executionId)).toMatchObject({ outcome: 'finding_recorded' })
  })

  test('also when it is turned off, with its proposal', async () => {
    const app = await makeMaintainedApp(system)
    const { call, executionId } = await started(app)
    await call('read_file', readFinding)
    const proposed = await call('propose_change', {
      title: 'Count no items as none',
      rationale: 'The log shows orders without items.',
      evidence: ['file:src/orders.js#L2-L2'],
      edits: [
        { path: 'src/orders.js', old_text: 'order.items.length', new_text: '(order.items?.length ?? 0)' },
      ],
    })
    expect(proposed).toMatchObject({ kind: 'result' })
    await app.call(updateAppMaintenance, { alias: app.alias, enabled: false })
    expect(await app.show(executionId)).toMatchObject({
      terminal_code: 'fenced_disabled',
      proposal_id: expect.stringMatching(/^pr_/) as string,
      summary: 'Count no items as none',
    })
  })
})

test('an end that is not committed is told to nobody', async () => {
  const app = await makeMaintainedApp(system)
  const { key, executionId } = await started(app)
  const told = () =>
    system.db
      .select({ type: outbox.type })
      .from(outbox)
      .where(eq(outbox.subject, `maintenance-runs/${executionId}`))
  const ended = withTransaction(system.db, async (tx) => {
    await endRun(tx, () => system.clock.now(), key, { code: 'agent_error', reason: 'UNEXPECTED' })
    throw new Error('after its event')
  })
  await expect(ended).rejects.toThrow('after its event')
  expect([await told(), await app.show(executionId)]).toMatchObject([[], { status: 'running' }])
  await endAs(system, key, 'agent_error')
  expect(await told()).toHaveLength(1)
})

describe('an agent runner that is stopped', () => {
  test('gives back what it has not finished, and another one does it from the start', async () => {
    const app = await makeMaintainedApp(system, { lines: [] })
    const executionId = await app.start()
    const stopping = new AbortController()
    let asked = 0
    const runner = agentRunner(system, async () => {
      if (asked++ === 0) return turnOf([['read_file', readFinding]])
      stopping.abort(new Error('stopping'))
      return turnOf('never heard')
    })
    await doRun(runner, await claimRun(system), stopping.signal)
    expect(await app.show(executionId)).toMatchObject({
      status: 'queued',
      started_at: null,
      base_revision: null,
      exit_code: null,
    })
    // What it read is not the next one's to cite: that may be of another revision.
    expect(
      await system.db.select().from(runEvidence).where(eq(runEvidence.executionId, executionId)),
    ).toEqual([])
    const again = await claimRun(system)
    expect(again.execution_id).toBe(executionId)
    expect(again.tokens).toBe((await app.show(executionId)).tokens)
    expect(again.tokens).toBeGreaterThan(500)
    const call = toolHost(system)
    const as = { token: again.identity }
    // As many calls as any run: those of the first attempt are not counted.
    for (let n = 0; n < 40; n++)
      await call('callTool', { tool: 'finish', arguments: '{"conclusion":"nothing_found"}' }, as)
    await call('endRun', { ending: { kind: 'finished' } }, as)
    const shown = await app.show(executionId)
    expect(shown).toMatchObject({ status: 'ended', reason: 'INCOMPLETE_LOOK' })
    expect(shown.steps.map(({ result }) => result)).toContain('RUNNER_STOPPED')
    expect(shown.tokens).toBe(shown.steps.reduce((sum, { tokens }) => sum + tokens, 0))
  })

  test('a second time: then the run ends', async () => {
    const app = await makeMaintainedApp(system)
    const first = await started(app)
    await first.end({ kind: 'failed', reason: 'RUNNER_STOPPED' })
    expect(await app.show(first.executionId)).toMatchObject({ status: 'queued' })
    const again = await claimRun(system)
    expect(again.execution_id).toBe(first.executionId)
    await toolHost(system)(
      'endRun',
      { ending: { kind: 'failed', reason: 'RUNNER_STOPPED' } },
      { token: again.identity },
    )
    expect(await app.show(first.executionId)).toMatchObject({
      status: 'ended',
      outcome: 'agent_error',
      reason: 'RUNNER_STOPPED',
    })
  })

  test('and has written something: that is how it ends', async () => {
    const app = await makeMaintainedApp(system)
    const { call, end, executionId } = await started(app)
    await call('read_file', readFinding)
    await call('record_finding', FINDING)
    await end({ kind: 'failed', reason: 'RUNNER_STOPPED' })
    expect(await app.show(executionId)).toMatchObject({ outcome: 'finding_recorded' })
  })
})

describe('a model that is not configured any more', () => {
  test('one run that cannot be ended keeps no other waiting', async () => {
    const apps = [await makeMaintainedApp(system), await makeMaintainedApp(system)]
    const ids = [await apps[0]!.start(), await apps[1]!.start()]
    await system.db.update(maintenanceRuns).set({ model: 'gone' }).where(inArray(maintenanceRuns.id, ids))
    system.clock.advance(61)
    let failures = 1
    const db = new Proxy(system.db, {
      get: (target, name): unknown =>
        name === 'transaction' && failures-- > 0
          ? () => Promise.reject(new Error('a broken row'))
          : Reflect.get(target, name),
    })
    const warned: string[] = []
    await endUnconfigured({ ...storageOf(system), db, log: { warn: (event) => warned.push(event) } }, [MODEL])
    expect(warned).toEqual(['maintenance: a run without its model was not ended'])
    const states = await Promise.all(apps.map((app, n) => app.show(ids[n]!)))
    expect(states.map(({ status }) => status).toSorted()).toEqual(['ended', 'queued'])
  })

  test('ends what waits for it, with the reason', async () => {
    const app = await makeMaintainedApp(system)
    const other = await makeMaintainedApp(system)
    const [executionId, otherId] = [await app.start(), await other.start()]
    await system.db.update(maintenanceRuns).set({ model: 'gone' }).where(eq(maintenanceRuns.id, executionId))
    await system.db
      .update(maintenanceSettings)
      .set({ model: 'gone' })
      .where(eq(maintenanceSettings.orgId, app.org.id))
    // Not at once: while processes are replaced, some know a model that others do not know yet.
    expect((await claimRun(system)).execution_id).toBe(otherId)
    expect(await app.show(executionId)).toMatchObject({ status: 'queued' })
    system.clock.advance(61)
    await expect(claimRun(system)).rejects.toThrow('no run waits')
    expect(await app.show(executionId)).toMatchObject({
      outcome: 'agent_error',
      reason: 'MODEL_NOT_CONFIGURED',
    })
  })

  test('what waits is done by the one that is chosen then, in this organization only', async () => {
    const [app, other] = [await makeMaintainedApp(system), await makeMaintainedApp(system)]
    const [executionId, otherId] = [await app.start(), await other.start()]
    await app.call(updateMaintenanceSettings, { org_id: app.org.id, model: RULES_MODEL })
    expect(await app.show(executionId)).toMatchObject({ model: RULES_MODEL })
    expect(await other.show(otherId)).toMatchObject({ model: MODEL })
  })
})

test('no public address leads to the tool host', async () => {
  const { run } = await started(await makeMaintainedApp(system))
  for (const path of ['/agent-runs/callTool', '/agent-runs/claimRun', '/api/agent-runs/callTool']) {
    const response = await system.fetch(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${run.identity}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tool: 'finish', arguments: '{}' }),
    })
    expect([path, response.status]).toEqual([path, 404])
  }
})
