/** The maintenance agent: who turns it on, when it runs, and how its runs end. */
import { randomUUID } from 'node:crypto'
import { and, eq, inArray, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import {
  appLeases,
  auditLog,
  maintenanceChanges,
  maintenanceRuns,
  maintenanceSettings,
  maintenanceSlots,
  outbox,
  runEvidence,
  runSteps,
  throttles,
  tokenPools,
} from '../../db/schema.ts'
import { AGENT_LIMITS } from '../../src/contracts/agent-tools.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { MAINTENANCE_LATE_SECONDS } from '../../src/contracts/limits.ts'
import {
  startMaintenanceRun,
  showAppMaintenance,
  showMaintenanceRun,
  showMaintenanceSettings,
  showMaintenanceUsage,
  listAppMaintenance,
  listMaintenanceRuns,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import { outcomeOf, TERMINAL_CODES, type RunReason } from '../../src/contracts/outcomes.ts'
import {
  claimRun,
  dispatchSlots,
  expireRuns,
  renewLease,
  requireHeld,
  reserveRunTokens,
  settleRunTokens,
  sweepMaintenance,
  underLease,
  type RunKey,
} from '../../src/cores/maintenance/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import {
  claimNextRun,
  endAs,
  endEverything,
  makeMaintainedApp,
  storageOf,
  turnOn,
} from '../support/maintenance.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem

beforeAll(async () => {
  system = await startSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
    MAINTENANCE_MODELS: JSON.stringify({ sonnet: { wire: 'anthropic', url: 'https://models.test' } }),
  })
})
afterAll(() => system.stop())
// What earlier tests left would be claimed, or due, in later ones.
beforeEach(() => endEverything(system))

/** By API tokens, which outlive the nights that these tests take. */
async function organization(): Promise<Org> {
  const made = await makeOrganization(system)
  return { ...made, owner: { ...made.owner, ...(await makeApiToken(system, made, made.owner)) } }
}

async function maintained(settings: object = {}) {
  const org = await organization()
  await turnOn(org, settings)
  return { org, app: await makeMaintainedApp(org), by: org.owner.call }
}

const memberOf = async (org: Org, role: 'admin' | 'developer' | 'viewer'): Promise<Person> => {
  const member = await makeMember(system, org, role)
  return { ...member, ...(await makeApiToken(system, org, member)) }
}

const log = {
  warn(event: string, fields?: object) {
    throw new Error(event, { cause: fields })
  },
}
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )
const worker = () => ({ ...storageOf(system), log })
const HOUR = 3_600
const DAY = 24 * HOUR
const advanceTo = (time: string | Date | null, seconds = 1) =>
  system.clock.advance((new Date(time!).getTime() - system.clock.now().getTime()) / 1000 + seconds)

async function eventsOf(executionId: string) {
  const rows = await system.db
    .select({ type: outbox.type, data: outbox.data })
    .from(outbox)
    .where(eq(outbox.subject, `maintenance-runs/${executionId}`))
  return rows.map(({ type, data }) => ({ type: type.replace('application.maintenance.', ''), data }))
}

const audited = async (orgId: string, action: string) =>
  (
    await system.db
      .select({ subject: auditLog.subject })
      .from(auditLog)
      .where(and(eq(auditLog.orgId, orgId), eq(auditLog.action, action as never)))
  ).length

describe('settings', () => {
  test('have defaults, need a model the first time, and turning on turns on no app', async () => {
    const org = await organization()
    const { call } = org.owner
    await call(createApp, { alias: 'shop', name: 'Shop' })
    const asked = { org_id: org.id }
    expect(await call(showMaintenanceSettings, asked)).toMatchObject({
      enabled: false,
      model: null,
      nightly_cron: '0 3 * * *',
      timezone: 'UTC',
      cooldown_hours: 24,
      token_allowance: 200_000,
      mcp_decisions: 'link',
      next_run_at: null,
      models: [
        { name: 'rules', proposes: false },
        { name: 'sonnet', proposes: true },
      ],
    })
    expect(await codeOf(call(updateMaintenanceSettings, { ...asked, enabled: true }))).toBe('INVALID_REQUEST')
    const on = await call(updateMaintenanceSettings, { ...asked, enabled: true, model: 'rules' })
    expect(on).toMatchObject({ enabled: true, model: 'rules', apps_enabled: 0 })
    expect(on.next_run_at).toBe('2026-03-03T03:00:00.000Z')
    // An app without a row is off.
    expect(await call(showAppMaintenance, { alias: 'shop' })).toMatchObject({ settings: { enabled: false } })
    expect(await codeOf(call(startMaintenanceRun, { alias: 'shop' }))).toBe('CONFLICT')
    // Left out is kept.
    const changed = await call(updateMaintenanceSettings, { ...asked, timezone: 'Europe/Berlin' })
    expect(changed).toMatchObject({ enabled: true, model: 'rules', timezone: 'Europe/Berlin' })
    // Three o'clock is another time there.
    expect(changed.next_run_at).toBe('2026-03-03T02:00:00.000Z')
    await call(updateMaintenanceSettings, { ...asked, enabled: false })
    // The model is known by now.
    expect(await call(updateMaintenanceSettings, { ...asked, enabled: true })).toMatchObject({
      model: 'rules',
    })
    expect(await audited(org.id, 'maintenance.switched_on')).toBe(2)
    expect(await audited(org.id, 'maintenance.switched_off')).toBe(1)
  })

  const WRONG: readonly (readonly [object, RegExp])[] = [
    [{ model: 'unknown' }, /model/],
    [{ nightly_cron: '0 3 31 2 *' }, /nightly_cron/],
    [{ nightly_cron: '*/5 * * * *' }, /once an hour/],
    [{ nightly_cron: '0 3 * *' }, /nightly_cron/],
    [{ timezone: '+02:00' }, /timezone: must be a time zone such as Europe\/Vienna or UTC/],
    [{ cooldown_hours: -1 }, /cooldown_hours/],
    [{ token_allowance: 1e12 }, /token_allowance/],
    [{ protected_paths: ['../secrets'] }, /protected_paths/],
    [{ mcp_decisions: 'always' }, /mcp_decisions/],
    [{ tokens: 5 }, /tokens/],
  ]
  test('what is wrong is refused by name, and nothing is changed', async () => {
    const { org, by } = await maintained()
    const before = await by(showMaintenanceSettings, { org_id: org.id })
    for (const [wrong, problem] of WRONG) {
      await expect(by(updateMaintenanceSettings, { org_id: org.id, ...wrong })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        problems: [expect.stringMatching(problem)],
      })
    }
    expect(await by(showMaintenanceSettings, { org_id: org.id })).toEqual(before)
  })

  test('an hour between two is enough, also where the clocks change in the next days', async () => {
    const { org, by } = await maintained()
    const times = { nightly_cron: '30 2,3 * * *', timezone: 'America/New_York' }
    await expect(by(updateMaintenanceSettings, { org_id: org.id, ...times })).resolves.toMatchObject(times)
  })

  test('an offset that was stored when it was allowed is shown, and all else can be changed', async () => {
    const { org, by } = await maintained()
    await system.db
      .update(maintenanceSettings)
      .set({ timezone: '+02:00' })
      .where(eq(maintenanceSettings.orgId, org.id))
    expect(await by(showMaintenanceSettings, { org_id: org.id })).toMatchObject({ timezone: '+02:00' })
    const changed = await by(updateMaintenanceSettings, { org_id: org.id, nightly_cron: '0 5 * * *' })
    expect(changed).toMatchObject({ timezone: '+02:00', next_run_at: expect.stringContaining('T03:00') })
  })

  test('are changed by owners and admins; letting agents decide, by an owner in the console', async () => {
    const { org, app, by } = await maintained()
    const [admin, developer, viewer] = [
      await memberOf(org, 'admin'),
      await memberOf(org, 'developer'),
      await memberOf(org, 'viewer'),
    ]
    await admin.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 2 })
    // What somebody has changed in another of their organizations keeps them from nothing here.
    const elsewhere = { orgId: makeId('org', 0), id: randomUUID(), appId: null, at: system.clock.now() }
    const { userId, name } = admin
    await system.db.insert(maintenanceChanges).values({ ...elsewhere, userId, userName: name })
    const seen = await admin.call(showMaintenanceSettings, { org_id: org.id })
    expect(seen.you_decide_from).toBeNull()
    await admin.call(updateAppMaintenance, { alias: app.alias, enabled: true })
    for (const { call } of [developer, viewer]) {
      expect(await codeOf(call(updateMaintenanceSettings, { org_id: org.id }))).toBe('FORBIDDEN')
      expect(await codeOf(call(updateAppMaintenance, { alias: app.alias, enabled: false }))).toBe('FORBIDDEN')
      expect(await codeOf(call(startMaintenanceRun, { alias: app.alias }))).toBe('FORBIDDEN')
      expect(await call(showMaintenanceSettings, { org_id: org.id })).toMatchObject({ cooldown_hours: 2 })
    }
    // A maintainer of the app is not an admin.
    await by(setAppMember, { alias: app.alias, user_id: viewer.userId, role: 'maintainer' })
    expect(await codeOf(viewer.call(startMaintenanceRun, { alias: app.alias }))).toBe('FORBIDDEN')
    const direct = { org_id: org.id, mcp_decisions: 'direct' } as const
    expect(await codeOf(admin.call(updateMaintenanceSettings, direct))).toBe('FORBIDDEN')
    expect(await codeOf(by(updateMaintenanceSettings, direct))).toBe('FORBIDDEN')
    expect((await by(showMaintenanceSettings, { org_id: org.id })).mcp_decisions).toBe('link')
  })

  test('an owner in the console lets agents decide', async () => {
    const org = await makeOrganization(system)
    await turnOn(org)
    const inConsole = system.as({ token: org.owner.token, organization: org.id, entryPoint: 'console' })
    const direct = { org_id: org.id, mcp_decisions: 'direct' } as const
    expect(await codeOf(org.owner.call(updateMaintenanceSettings, direct))).toBe('FORBIDDEN')
    expect(await inConsole(updateMaintenanceSettings, direct)).toMatchObject({ mcp_decisions: 'direct' })
  })

  test('off, an organization has no maintenance, and its history where there was one', async () => {
    const { org, app, by } = await maintained()
    const other = await maintained()
    const { execution_id } = await by(startMaintenanceRun, { alias: app.alias })
    await endAs(system, await claimNextRun(system), 'found_nothing')
    await by(createApp, { alias: 'never-on', name: 'Never' })
    await by(updateMaintenanceSettings, { org_id: org.id, enabled: false })
    const { alias } = app
    const OFF = 'MAINTENANCE_AGENT_NOT_FOUND'
    expect(await codeOf(by(showAppMaintenance, { alias }))).toBe(OFF)
    expect(await codeOf(by(updateAppMaintenance, { alias, enabled: true }))).toBe(OFF)
    expect(await codeOf(by(startMaintenanceRun, { alias }))).toBe(OFF)
    expect((await by(listMaintenanceRuns, { alias })).runs).toHaveLength(1)
    expect(await by(showMaintenanceRun, { alias, execution_id })).toMatchObject({ outcome: 'found_nothing' })
    for (const unknown of ['never-on', 'no-such-app', other.app.alias]) {
      expect(await codeOf(by(listMaintenanceRuns, { alias: unknown }))).toBe(OFF)
    }
    // On again, no app is.
    await turnOn(org)
    expect(await by(showAppMaintenance, { alias })).toMatchObject({ settings: { enabled: false } })
    expect(await codeOf(by(showAppMaintenance, { alias: 'no-such-app' }))).toBe('NOT_FOUND')
    expect(await other.by(showAppMaintenance, { alias: other.app.alias })).toMatchObject({
      settings: { enabled: true },
    })
  })
})

describe('runs that people start', () => {
  test('wait for an agent runner, hold the app, and end', async () => {
    const { org, app, by } = await maintained()
    const other = await maintained()
    const created = await by(startMaintenanceRun, { alias: app.alias })
    expect(created).toMatchObject({
      app: app.alias,
      status: 'queued',
      mode: 'manual',
      model: 'rules',
      requested_by: { user_id: org.owner.userId, name: org.owner.name },
      terminal_code: null,
      outcome: null,
      replayed: false,
    })
    const { execution_id } = created
    const run = await claimNextRun(system)
    expect(run).toMatchObject({ orgId: org.id, appId: app.id, executionId: execution_id })
    // Above it are the changes of the database's timeline, which another walk may have made.
    expect(run.fence % 1_000_000).toBe(1)
    expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
      status: 'running',
    })
    // Another organization's does not exist, whatever it is called.
    expect(await codeOf(other.by(showMaintenanceRun, { alias: other.app.alias, execution_id }))).toBe(
      'NOT_FOUND',
    )
    expect(await codeOf(other.by(showMaintenanceRun, { alias: app.alias, execution_id }))).toBe('NOT_FOUND')
    const second = await by(startMaintenanceRun, { alias: app.alias })
    expect(second).toMatchObject({ status: 'ended', outcome: 'skipped', exit_code: 0, reason: 'ANOTHER_RUN' })
    await endAs(system, run, 'finding_recorded', { summary: 'A null price', fingerprint: 'fp_1' })
    expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
      status: 'ended',
      terminal_code: 'finding_recorded',
      outcome: 'finding_recorded',
      exit_code: 11,
      summary: 'A null price',
      fingerprint: 'fp_1',
    })
    expect(await eventsOf(execution_id)).toEqual([
      { type: 'run.completed', data: { execution_id, outcome: 'finding_recorded' } },
    ])
    expect(await eventsOf(second.execution_id)).toEqual([])
    const { runs } = await by(listMaintenanceRuns, { alias: app.alias })
    expect(runs.map(({ outcome }) => outcome)).toEqual(['skipped', 'finding_recorded'])
    const skipped = await by(listMaintenanceRuns, { alias: app.alias, outcome: 'skipped' })
    expect(skipped.runs).toHaveLength(1)
    expect((await other.by(listMaintenanceRuns, { alias: other.app.alias })).runs).toEqual([])
  })

  test('a summary and what was read are for those who may read the source', async () => {
    const { org, app, by } = await maintained()
    const viewer = await memberOf(org, 'viewer')
    const { execution_id } = await by(startMaintenanceRun, { alias: app.alias })
    const run = await claimNextRun(system)
    const [sha256, at] = ['0'.repeat(64), system.clock.now()]
    const of = { orgId: org.id, executionId: execution_id }
    const read = { kind: 'file', location: 'src/a.js', fromLine: 1, toLine: 2, sha256, readAt: at } as const
    await system.db.insert(runEvidence).values({ ...of, ...read, ref: 'file:src/a.js#L1-L2' })
    await system.db.insert(runSteps).values({
      ...of,
      number: 1,
      tool: 'read_file',
      result: 'ok',
      requestSha256: sha256,
      resultSha256: sha256,
      ms: 3,
      at,
    })
    await endAs(system, run, 'finding_recorded', { summary: 'A null price' })
    const asked = { alias: app.alias, execution_id }
    expect(await by(showMaintenanceRun, asked)).toMatchObject({
      summary: 'A null price',
      evidence_read: 1,
      evidence: [{ ref: 'file:src/a.js#L1-L2', location: 'src/a.js', sha256 }],
      steps: [{ number: 1, tool: 'read_file', result: 'ok', ms: 3 }],
    })
    expect(await viewer.call(showMaintenanceRun, asked)).toMatchObject({
      outcome: 'finding_recorded',
      summary: null,
      evidence_read: 1,
      evidence: [{ ref: null, location: null, sha256 }],
    })
    await by(setAppMember, { alias: app.alias, user_id: viewer.userId, role: 'builder' })
    expect(await viewer.call(showMaintenanceRun, asked)).toMatchObject({ summary: 'A null price' })
  })

  test('a key replays its run for good and for everybody, whatever has happened since', async () => {
    const { org, app, by } = await maintained({ cooldown_hours: 0 })
    const admin = await memberOf(org, 'admin')
    const asked = { alias: app.alias, idempotency_key: unique('key') }
    const started = await Promise.all(Array.from({ length: 4 }, () => by(startMaintenanceRun, asked)))
    const first = started.find(({ replayed }) => !replayed)!
    expect(new Set(started.map(({ execution_id }) => execution_id))).toEqual(new Set([first.execution_id]))
    await endAs(system, await claimNextRun(system), 'found_nothing')
    system.clock.advance(40 * DAY)
    const again = await admin.call(startMaintenanceRun, asked)
    expect(again).toMatchObject({
      execution_id: first.execution_id,
      replayed: true,
      outcome: 'found_nothing',
    })
    await by(updateAppMaintenance, { alias: app.alias, enabled: false })
    expect(await by(startMaintenanceRun, asked)).toMatchObject({ execution_id: first.execution_id })
    // Of another app it is another key.
    const second = await makeMaintainedApp(org)
    expect(await by(startMaintenanceRun, { ...asked, alias: second.alias })).toMatchObject({
      replayed: false,
    })
    expect((await by(listMaintenanceRuns, { alias: app.alias })).runs).toHaveLength(1)
  })

  test('are limited in an hour for each app by itself', async () => {
    const { org, app, by } = await maintained()
    const next = await makeMaintainedApp(org)
    for (const id of [app.id, org.id]) {
      const fullUntil = new Date(system.clock.now().getTime() + 2 * HOUR * 1000)
      await system.db.insert(throttles).values({ key: sha256(`maintenance-starts:${id}`), fullUntil })
    }
    expect(await codeOf(by(startMaintenanceRun, { alias: app.alias }))).toBe('RATE_LIMITED')
    expect(await by(startMaintenanceRun, { alias: next.alias })).toMatchObject({ status: 'queued' })
  })

  test('the header is the same key', async () => {
    const { org, app } = await maintained()
    const key = unique('key')
    const start = async () => {
      const response = await system.fetch(`/api/deploy/deployments/${app.alias}/maintenance-agent/runs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${org.owner.token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ mode: 'nightly' }),
      })
      expect(response.status).toBe(201)
      return (await response.json()) as { execution_id: string; mode: string }
    }
    const first = await start()
    expect(first.mode).toBe('nightly')
    expect((await start()).execution_id).toBe(first.execution_id)
  })

  test.runIf(inject('everyCase'))(
    'are apart by the cool-down, from start to start; those that could not begin do not count',
    async () => {
      const { app, by } = await maintained()
      const start = () => by(startMaintenanceRun, { alias: app.alias })
      const end = async (code: 'agent_error' | 'found_nothing') =>
        endAs(system, await claimNextRun(system), code)
      await start()
      await end('agent_error')
      await start()
      await end('found_nothing')
      const { manual_run_from } = await by(showAppMaintenance, { alias: app.alias })
      await expect(start()).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining(manual_run_from!) as string,
      })
      // A nightly run neither waits for it nor starts it anew.
      system.clock.advance(20 * HOUR)
      await dispatchSlots(worker())
      await end('found_nothing')
      expect((await by(showAppMaintenance, { alias: app.alias })).manual_run_from).toBe(manual_run_from)
      advanceTo(manual_run_from)
      expect(await start()).toMatchObject({ status: 'queued' })
    },
  )

  test('wait for what they have used themselves, and not for what nobody could help', async () => {
    const { app, by } = await maintained()
    const ended = async (reason: RunReason) => {
      await by(startMaintenanceRun, { alias: app.alias })
      const run = await claimNextRun(system)
      await reserveRunTokens(storageOf(system), run, 100)
      await endAs(system, run, 'agent_error', { reason })
      return (await by(showAppMaintenance, { alias: app.alias })).manual_run_from
    }
    for (const reason of ['RUNNER_LOST', 'RUNNER_STOPPED', 'MODEL_OUTAGE', 'OUTAGE_USED_ALLOWANCE'] as const)
      expect(await ended(reason), reason).toBeNull()
    expect(await ended('STEP_LIMIT')).not.toBeNull()
  })

  test.runIf(inject('everyCase'))(
    'with another model need not wait for those of the one before',
    async () => {
      const { org, app, by } = await maintained()
      const start = () => by(startMaintenanceRun, { alias: app.alias })
      await start()
      await endAs(system, await claimNextRun(system), 'found_nothing')
      await expect(start()).rejects.toMatchObject({ code: 'CONFLICT' })
      // As if another one had been chosen then: of that one there is none.
      await system.db
        .update(maintenanceRuns)
        .set({ model: 'another' })
        .where(eq(maintenanceRuns.orgId, org.id))
      expect(await start()).toMatchObject({ status: 'queued' })
    },
  )

  test('of a model that is chosen again while another one waits, count as of that model', async () => {
    const { org, app, by } = await maintained()
    const choose = (model: string) => by(updateMaintenanceSettings, { org_id: org.id, model })
    const start = () => by(startMaintenanceRun, { alias: app.alias })
    await choose('rules')
    await start()
    await endAs(system, await claimNextRun(system), 'found_nothing')
    await choose('sonnet')
    const { execution_id } = await start()
    await choose('rules')
    expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
      outcome: 'skipped',
      reason: 'COOLING_DOWN',
    })
    await expect(start()).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('waiting for a run answers when its status has changed', async () => {
    const { app, by } = await maintained()
    const { execution_id } = await by(startMaintenanceRun, { alias: app.alias })
    const asked = { alias: app.alias, execution_id }
    expect(await by(showMaintenanceRun, { ...asked, wait: 20, status: 'running' })).toMatchObject({
      status: 'queued',
    })
    const waiting = by(showMaintenanceRun, { ...asked, wait: 20, status: 'queued' })
    const run = await claimNextRun(system)
    expect(await waiting).toMatchObject({ status: 'running' })
    await endAs(system, run, 'found_nothing')
    expect(await by(showMaintenanceRun, { ...asked, wait: 20 })).toMatchObject({ status: 'ended' })
  })
})

describe('nightly runs', () => {
  test('are dispatched once at their time, for every app that is on', async () => {
    const { org, app, by } = await maintained()
    await makeMaintainedApp(org)
    await by(createApp, { alias: 'off', name: 'Off' })
    const { next_run_at } = await by(showMaintenanceSettings, { org_id: org.id })
    expect(await dispatchSlots(worker())).toBe(0)
    advanceTo(next_run_at)
    // Whatever else is changed, a time that has come is not lost.
    await by(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 3 })
    expect(await dispatchSlots(worker())).toBe(1)
    expect(await dispatchSlots(worker())).toBe(0)
    const runs = await system.db.select().from(maintenanceRuns).where(eq(maintenanceRuns.orgId, org.id))
    expect(runs.map(({ status, mode, requestedById }) => ({ status, mode, requestedById }))).toEqual(
      Array.from({ length: 2 }, () => ({ status: 'queued', mode: 'nightly', requestedById: null })),
    )
    expect(runs.map(({ slotAt }) => slotAt?.toISOString())).toEqual([next_run_at, next_run_at])
    expect((await by(showMaintenanceSettings, { org_id: org.id })).next_run_at).toBe(
      new Date(Date.parse(next_run_at!) + DAY * 1000).toISOString(),
    )
    expect((await by(listMaintenanceRuns, { alias: app.alias })).runs[0]).toMatchObject({
      requested_by: null,
      via: null,
    })
    // Whoever wants one by hand need not wait for what nobody started.
    for (let n = 0; n < runs.length; n++) await endAs(system, await claimNextRun(system), 'found_nothing')
    expect((await by(showAppMaintenance, { alias: app.alias })).manual_run_from).toBeNull()
  })

  test('an app that another run holds is skipped, and nobody is told', async () => {
    const { org, app, by } = await maintained()
    await by(startMaintenanceRun, { alias: app.alias })
    advanceTo((await by(showMaintenanceSettings, { org_id: org.id })).next_run_at)
    await dispatchSlots(worker())
    const { runs } = await by(listMaintenanceRuns, { alias: app.alias })
    expect(runs.map(({ mode, outcome }) => [mode, outcome])).toEqual([
      ['nightly', 'skipped'],
      ['manual', null],
    ])
    expect(await eventsOf(runs[0]!.execution_id)).toEqual([])
  })

  test('after a downtime the newest time is made up for within six hours, and later it is only remembered', async () => {
    const { org, app, by } = await maintained()
    const late = async (seconds: number) => {
      const { next_run_at } = await by(showMaintenanceSettings, { org_id: org.id })
      advanceTo(next_run_at, 3 * DAY + seconds)
      await dispatchSlots(worker())
      return new Date(Date.parse(next_run_at!) + 3 * DAY * 1000)
    }
    const newest = await late(MAINTENANCE_LATE_SECONDS - 60)
    const [run, ...others] = (await by(listMaintenanceRuns, { alias: app.alias })).runs
    expect(others).toEqual([])
    await endAs(system, await claimNextRun(system), 'found_nothing')
    const slots = async () =>
      (
        await system.db
          .select()
          .from(maintenanceSlots)
          .where(eq(maintenanceSlots.appId, app.id))
          .orderBy(maintenanceSlots.slotAt)
      ).map(({ slotAt, executionId }) => [slotAt.toISOString(), executionId])
    expect(await slots()).toEqual([[newest.toISOString(), run!.execution_id]])
    const missed = await late(MAINTENANCE_LATE_SECONDS + 60)
    expect(await slots()).toEqual([
      [newest.toISOString(), run!.execution_id],
      [missed.toISOString(), null],
    ])
    expect((await by(listMaintenanceRuns, { alias: app.alias })).runs).toHaveLength(1)
  })

  test('a thousand apps of ten organizations are one pass, and one run each', async () => {
    const orgs = Array.from({ length: 10 }, () => makeId('org', system.clock.now().getTime()))
    const at = system.clock.now()
    const settings = (await maintained()).org.id
    const [like] = await system.db
      .select()
      .from(maintenanceSettings)
      .where(eq(maintenanceSettings.orgId, settings))
    await system.db
      .insert(maintenanceSettings)
      .values(orgs.map((orgId) => ({ ...like!, orgId, nextSlotAt: at })))
    await system.db.execute(sql`
      insert into app_maintenance (org_id, app_id, enabled, changed_at)
      select org, 'app_' || n, n <= 100, now()
      from json_array_elements_text(${JSON.stringify(orgs)}::text::json) as o(org), generate_series(1, 110) as n`)
    expect(await dispatchSlots(worker())).toBe(10)
    const [counted] = await system.db.execute<{ runs: number; apps: number }>(sql`
      select count(*)::int as runs, count(distinct (org_id, app_id))::int as apps from maintenance_runs
      where org_id in (select o from json_array_elements_text(${JSON.stringify(orgs)}::text::json) as o)`)
    expect(counted).toEqual({ runs: 1000, apps: 1000 })
    await system.db.delete(maintenanceRuns).where(inArray(maintenanceRuns.orgId, orgs))
  })

  test.runIf(inject('everyCase'))('nobody’s thousand keep another organization waiting', async () => {
    const [many, one] = [await maintained(), await maintained()]
    for (let n = 0; n < 4; n++) {
      const { alias } = await makeMaintainedApp(many.org)
      await many.by(startMaintenanceRun, { alias })
    }
    await one.by(startMaintenanceRun, { alias: one.app.alias })
    const orgs: string[] = []
    for (let n = 0; n < 3; n++) orgs.push((await claimNextRun(system)).orgId)
    expect(orgs).toEqual([many.org.id, one.org.id, many.org.id])
    // A runner of which it has its share takes none of its runs.
    const claim = { claimId: unique('claim'), models: ['rules'], except: [many.org.id] }
    expect(await claimRun(storageOf(system), claim)).toBeUndefined()
  })
})

describe('the lease', () => {
  const write = (run: RunKey) => withTransaction(system.db, (tx) => underLease(tx, run))
  const FENCED = { code: 'CONFLICT' }
  const expireLease = (run: RunKey) =>
    system.db
      .update(appLeases)
      .set({ expiresAt: sql`clock_timestamp() - interval '1 second'` })
      .where(and(eq(appLeases.orgId, run.orgId), eq(appLeases.appId, run.appId)))

  async function running() {
    const made = await maintained({ cooldown_hours: 0 })
    const { execution_id } = await made.by(startMaintenanceRun, { alias: made.app.alias })
    return { ...made, execution_id, run: await claimNextRun(system) }
  }

  test('is of one run, and grows with every next one', async () => {
    const { run, by, app } = await running()
    await write(run)
    await expect(write({ ...run, fence: run.fence + 1 })).rejects.toMatchObject(FENCED)
    await expect(write({ ...run, orgId: makeId('org', 0) })).rejects.toMatchObject(FENCED)
    await endAs(system, run, 'found_nothing')
    for (const late of [
      () => write(run),
      () => requireHeld(system.db, run),
      () => renewLease(system.db, run),
    ]) {
      await expect(late()).rejects.toMatchObject(FENCED)
    }
    await expect(endAs(system, run, 'proposed')).rejects.toMatchObject(FENCED)
    await by(startMaintenanceRun, { alias: app.alias })
    expect((await claimNextRun(system)).fence).toBeGreaterThan(run.fence)
  })

  test('a claim whose answer was lost gives the same run again, while it holds the app', async () => {
    const { app, by } = await maintained()
    await by(startMaintenanceRun, { alias: app.alias })
    const claim = { claimId: unique('claim'), models: ['rules'] }
    const first = await claimRun(storageOf(system), claim)
    expect((await claimRun(storageOf(system), claim))!.key).toEqual(first!.key)
    expect(await claimRun(storageOf(system), { ...claim, claimId: unique('claim') })).toBeUndefined()
    // Nor for longer than a run may take, whoever renews it.
    system.clock.advance(AGENT_LIMITS.seconds + 1)
    expect(await claimRun(storageOf(system), claim)).toBeUndefined()
    system.clock.advance(-AGENT_LIMITS.seconds)
    expect((await claimRun(storageOf(system), claim))!.key).toEqual(first!.key)
    await expireLease(first!.key)
    expect(await claimRun(storageOf(system), claim)).toBeUndefined()
  })

  test('a run waits for a runner that knows its model', async () => {
    const { app, by } = await maintained({ model: 'sonnet' })
    await by(startMaintenanceRun, { alias: app.alias })
    await expect(claimNextRun(system)).rejects.toThrow('no run waits')
    await claimNextRun(system, ['rules', 'sonnet'])
  })

  test('a runner that is not heard from loses its run: an agent error, told once, its tokens charged', async () => {
    const { org, run, execution_id, by, app } = await running()
    await reserveRunTokens(storageOf(system), run, 500)
    expect(await expireRuns(worker())).toBe(0)
    await expireLease(run)
    await expect(write(run)).rejects.toMatchObject(FENCED)
    await expect(renewLease(system.db, run)).rejects.toMatchObject(FENCED)
    expect(await expireRuns(worker())).toBe(1)
    expect(await expireRuns(worker())).toBe(0)
    expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
      terminal_code: 'lease_lost',
      outcome: 'agent_error',
      exit_code: 1,
      reason: 'RUNNER_LOST',
      tokens: 500,
    })
    expect(await eventsOf(execution_id)).toEqual([
      { type: 'run.failed', data: { execution_id, outcome: 'agent_error' } },
    ])
    const [pool] = await system.db.select().from(tokenPools).where(eq(tokenPools.orgId, org.id))
    expect(pool).toMatchObject({ reserved: 0, spent: 500 })
  })

  test('a run that no runner starts ends after six hours', async () => {
    const { app, by } = await maintained()
    const { execution_id } = await by(startMaintenanceRun, { alias: app.alias })
    system.clock.advance(MAINTENANCE_LATE_SECONDS - 60)
    expect(await expireRuns(worker())).toBe(0)
    system.clock.advance(120)
    expect(await expireRuns(worker())).toBe(1)
    expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
      outcome: 'agent_error',
      reason: 'NOT_STARTED',
    })
  })

  test('turned off, the app’s run is fenced, what was sent is charged, and nobody is told', async () => {
    const { org, run, execution_id, by, app } = await running()
    const other = await running()
    const { alias: beside } = await makeMaintainedApp(org)
    await by(startMaintenanceRun, { alias: beside })
    await reserveRunTokens(storageOf(system), run, 300)
    await by(updateAppMaintenance, { alias: app.alias, enabled: false })
    expect((await by(listMaintenanceRuns, { alias: beside })).runs).toMatchObject([{ status: 'queued' }])
    await expect(write(run)).rejects.toMatchObject(FENCED)
    await expect(reserveRunTokens(storageOf(system), run, 1)).rejects.toMatchObject(FENCED)
    expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
      terminal_code: 'fenced_disabled',
      outcome: 'fenced',
      chip: 'Stopped: switched off',
      exit_code: 6,
      tokens: 300,
    })
    expect(await eventsOf(execution_id)).toEqual([])
    expect((await by(showMaintenanceUsage, { org_id: org.id })).today).toMatchObject({
      spent: 300,
      reserved: 0,
    })
    await write(other.run)
  })

  test('the organization off covers every app, those that run and those that wait', async () => {
    const { org, run, by, app } = await running()
    const waiting = await makeMaintainedApp(org)
    await by(startMaintenanceRun, { alias: waiting.alias })
    await by(updateMaintenanceSettings, { org_id: org.id, enabled: false })
    await expect(write(run)).rejects.toMatchObject(FENCED)
    for (const { alias } of [app, waiting]) {
      expect((await by(listMaintenanceRuns, { alias })).runs[0]).toMatchObject({
        outcome: 'fenced',
        reason: 'ORGANIZATION_SWITCHED_OFF',
      })
    }
    await expect(claimNextRun(system)).rejects.toThrow('no run waits')
    expect((await by(listAppMaintenance, { org_id: org.id })).apps.map(({ enabled }) => enabled)).toEqual([
      false,
      false,
    ])
  })

  test.runIf(inject('everyCase'))(
    'every ending is the same wherever it is read, as the table of outcomes says',
    async () => {
      const { by, app } = await maintained({ cooldown_hours: 0 })
      const { alias } = app
      for (const code of TERMINAL_CODES) {
        const { execution_id } = await by(startMaintenanceRun, { alias })
        await endAs(system, await claimNextRun(system), code)
        const { outcome, chip, exitCode, event } = outcomeOf(code, 'rules')
        const shown = { terminal_code: code, outcome, chip, exit_code: exitCode }
        expect(await by(showMaintenanceRun, { alias, execution_id })).toMatchObject(shown)
        expect((await by(listMaintenanceRuns, { alias })).runs[0]).toMatchObject(shown)
        expect((await by(showAppMaintenance, { alias })).latest_run).toMatchObject(shown)
        expect((await eventsOf(execution_id)).map(({ type }) => `application.maintenance.${type}`)).toEqual(
          event === null ? [] : [event],
        )
      }
    },
  )

  test('the database itself takes no other code, and no second open run', async () => {
    const { run } = await running()
    const isRun = eq(maintenanceRuns.id, run.executionId)
    const set = (values: object) => system.db.update(maintenanceRuns).set(values).where(isRun)
    const REFUSED = { cause: { code: '23514' } }
    await expect(
      set({ status: 'ended', terminalCode: 'healthy', endedAt: system.clock.now() }),
    ).rejects.toMatchObject(REFUSED)
    await expect(set({ status: 'ended' })).rejects.toMatchObject(REFUSED)
    const [row] = await system.db.select().from(maintenanceRuns).where(isRun)
    await expect(
      system.db.insert(maintenanceRuns).values({ ...row!, id: makeId('exec', 0) }),
    ).rejects.toMatchObject({ cause: { code: '23505' } })
  })
})

test('usage is that of today and of 30 days, of one’s own organization', async () => {
  const { org, app, by } = await maintained({ cooldown_hours: 0, token_allowance: 1_000 })
  const other = await maintained()
  await by(startMaintenanceRun, { alias: app.alias })
  const run = await claimNextRun(system)
  const { id: first } = await reserveRunTokens(storageOf(system), run, 600)
  expect(await reserveRunTokens(storageOf(system), run, 600)).toMatchObject({ id: null, isLeftAlone: false })
  // Another run's reservation is not this one's to settle.
  expect(await settleRunTokens(system.db, { ...run, executionId: makeId('exec', 0) }, first!, 1)).toBe(false)
  expect(await settleRunTokens(system.db, run, first!, 250)).toBe(true)
  expect(await settleRunTokens(system.db, run, first!, 250)).toBe(false)
  const { id: second } = await reserveRunTokens(storageOf(system), run, 100)
  const used = await by(showMaintenanceUsage, { org_id: org.id })
  expect(used.today).toMatchObject({ allowance: 1_000, spent: 250, reserved: 100 })
  expect(used.days).toHaveLength(30)
  expect(used.days.at(-1)).toEqual({ day: used.today.day, tokens: 250 })
  expect(used).toMatchObject({
    runs: 1,
    run_tokens: 250,
    acceptance_rate: null,
    tokens_per_accepted_proposal: null,
  })
  expect(await other.by(showMaintenanceUsage, { org_id: other.org.id })).toMatchObject({
    runs: 0,
    run_tokens: 0,
    today: { spent: 0, reserved: 0 },
  })
  // Also what was used beyond what was reserved for it.
  await settleRunTokens(system.db, run, second!, 130)
  expect((await by(showMaintenanceUsage, { org_id: org.id })).today).toMatchObject({
    spent: 380,
    reserved: 0,
  })
})

test('the list of apps says where it is on and how it went last', async () => {
  const { org, app, by } = await maintained()
  await maintained()
  const { alias } = await by(createApp, { alias: unique('zoo'), name: 'Zoo' })
  await by(startMaintenanceRun, { alias: app.alias })
  await endAs(system, await claimNextRun(system), 'found_nothing', { summary: 'What a log said' })
  const { apps } = await by(listAppMaintenance, { org_id: org.id })
  expect(apps).toMatchObject([
    {
      app: app.alias,
      enabled: true,
      latest_run: { outcome: 'found_nothing' },
      open_findings: 0,
      open_proposals: 0,
    },
    { app: alias, enabled: false, latest_run: null },
  ])
  const off = await by(listAppMaintenance, { org_id: org.id, enabled: 'false' })
  expect(off.apps.map((one) => one.app)).toEqual([alias])
  const summaryFor = async (role: 'developer' | 'viewer') =>
    (await (await memberOf(org, role)).call(listAppMaintenance, { org_id: org.id })).apps[0]?.latest_run
      ?.summary
  expect([await summaryFor('developer'), await summaryFor('viewer')]).toEqual(['What a log said', null])
})

test('transcripts and what nobody cited are forgotten after 30 days; runs, keys and digests stay', async () => {
  const { org, app, by } = await maintained()
  const { execution_id } = await by(startMaintenanceRun, { alias: app.alias })
  const run = await claimNextRun(system)
  const of = { orgId: org.id, executionId: execution_id }
  const [sha256, at] = ['0'.repeat(64), system.clock.now()]
  const step = { tool: null, result: 'ok', requestSha256: sha256, resultSha256: sha256, ms: 1, at }
  await system.db.insert(runSteps).values({ ...of, ...step, number: 1, sealedTranscript: 'sealed' })
  const evidence = { kind: 'log', location: 'lgl_1', sha256, sealedText: 'sealed', readAt: at } as const
  await system.db.insert(runEvidence).values([
    { ...of, ...evidence, ref: 'log:1', pinned: true },
    { ...of, ...evidence, ref: 'log:2' },
  ])
  await endAs(system, run, 'found_nothing')
  const kept = async () => {
    const steps = await system.db.select().from(runSteps).where(eq(runSteps.executionId, execution_id))
    const read = await system.db
      .select()
      .from(runEvidence)
      .where(eq(runEvidence.executionId, execution_id))
      .orderBy(runEvidence.ref)
    return [...steps.map((one) => one.sealedTranscript), ...read.map((one) => one.sealedText)]
  }
  system.clock.advance(29 * DAY)
  await sweepMaintenance(storageOf(system))
  expect(await kept()).toEqual(['sealed', 'sealed', 'sealed'])
  system.clock.advance(2 * DAY)
  await sweepMaintenance(storageOf(system))
  // Only the digest of the step stays, and what is cited.
  expect(await kept()).toEqual([null, 'sealed'])
  expect(await by(showMaintenanceRun, { alias: app.alias, execution_id })).toMatchObject({
    steps: [{ result_sha256: sha256 }],
    evidence: [{ sha256, pinned: true }],
    evidence_read: 2,
  })
})
