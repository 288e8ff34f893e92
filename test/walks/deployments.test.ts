/** Deployments: in which order, by whom, what becomes of each, and what is told of it. */
import { and, eq, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { apps, auditLog, deploymentOutput, deployments, outbox } from '../../db/schema.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import * as contract from '../../src/contracts/deployments.ts'
import { FAIR_QUEUES } from '../../src/contracts/fair-queues.ts'
import {
  DEPLOYMENT_LEASE_SECONDS,
  DEPLOYMENT_OUTPUT,
  DEPLOYMENTS_QUEUED_MAX,
} from '../../src/contracts/limits.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import {
  claimDeployment,
  expireDeployments,
  sweepDeploymentOutput,
} from '../../src/cores/deployments/index.ts'
import { answerTo } from '../support/answers.ts'
import { makeApp, makeRevision } from '../support/deployments.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { makeAppMember, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { untilAsked } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

type Called = { call: Person['call'] }
type App = Awaited<ReturnType<typeof makeApp>>

let system: TestSystem
let [org, other]: Org[] = []
let [viewer, developer]: Person[] = []
let app: App
let revision: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[viewer, developer] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'developer')]
})
afterAll(() => system.stop())

beforeEach(async () => {
  app = await makeApp(system, org!)
  revision = await makeRevision(system, app)
})

const owner = () => org!.owner
const deps = () => ({ db: system.db, clock: () => system.clock.now() })
const log = {
  warn(event: string, fields?: object) {
    throw new Error(event, { cause: fields })
  },
}
/** `since`: when the process that does it began to look. */
const expire = (since = new Date(0)) => expireDeployments({ ...deps(), log }, { since })
const codeOf = (error: { code: string }) => error.code

const deploy = (revision_id = revision, of = app) =>
  owner().call(contract.createDeployment, { alias: of.alias, revision_id })
const claim = (by: Called = owner(), more: { claim_id?: string; wait_seconds?: number } = {}) =>
  by.call(contract.claimDeployment, { alias: app.alias, runner: 'runner 1', ...more })
const show = (deployment_id: string) =>
  owner().call(contract.showDeployment, { alias: app.alias, deployment_id })
const tokenFor = async (scope: 'apps:run' | 'apps:report', of = app): Promise<Called> => {
  const { token } = await owner().call(createAppToken, { alias: of.alias, name: scope, scope })
  return { call: system.as({ token }) }
}

const eventsOf = (id: string) =>
  system.db
    .select()
    .from(outbox)
    .where(and(eq(outbox.orgId, org!.id), eq(outbox.subject, `deployments/${id}`)))
const isDeployment = (id: string) => and(eq(deployments.orgId, org!.id), eq(deployments.id, id))
/** Under its id alone. */
const auditOf = async (id: string) => {
  const isIt = and(eq(auditLog.orgId, org!.id), eq(auditLog.subject, `${app.alias}: ${id}`))
  const rows = await system.db.select({ action: auditLog.action }).from(auditLog).where(isIt)
  return rows.map(({ action }) => action)
}
const endLease = (id: string) =>
  system.db
    .update(deployments)
    .set({ leaseUntil: sql`now() - interval '1 second'` })
    .where(and(isDeployment(id), eq(deployments.state, 'running')))

/** Its claim, so that reports can be made as its runner. */
async function running() {
  const { id } = await deploy()
  const { fence } = await claim()
  return { id, path: { alias: app.alias, deployment_id: id, fence: fence! } }
}
const finish = (
  path: { alias: string; deployment_id: string; fence: number },
  exit_code: number | null = 0,
) => owner().call(contract.finishDeployment, { ...path, exit_code })

describe('what becomes of a deployment', () => {
  /** How a deployment comes to be in each state. */
  const STATES = {
    queued: async () => (await deploy()).id,
    running: async () => (await running()).id,
    stopping: async () => {
      const { id } = await running()
      await act('cancel', id)
      return id
    },
    succeeded: async () => {
      const { id } = await running()
      await act('exit 0', id)
      return id
    },
    failed: async () => {
      const { id } = await running()
      await act('exit 1', id)
      return id
    },
    lost: async () => {
      const { id } = await running()
      await act('lease over', id)
      return id
    },
    cancelled: async () => {
      const { id } = await deploy()
      await act('cancel', id)
      return id
    },
  }
  type Start = keyof typeof STATES

  const path = (deployment_id: string) => ({ alias: app.alias, deployment_id })
  const ACTIONS = {
    claim: () => claim(),
    report: (id: string) =>
      owner().call(contract.reportDeploymentOutput, { ...path(id), fence: 1, text: 'line\n', position: 0 }),
    'exit 0': (id: string) => finish({ ...path(id), fence: 1 }, 0),
    'exit 1': (id: string) => finish({ ...path(id), fence: 1 }, 1),
    'stopped, exit 0': (id: string) =>
      owner().call(contract.finishDeployment, { ...path(id), fence: 1, exit_code: 0, code: 'RUNNER_FAILED' }),
    'time out': (id: string) =>
      owner().call(contract.finishDeployment, { ...path(id), fence: 1, exit_code: null, code: 'TIMED_OUT' }),
    'wrong fence': (id: string) => finish({ ...path(id), fence: 7 }, 1),
    cancel: (id: string) => owner().call(contract.cancelDeployment, path(id)),
    confirm: (id: string) => owner().call(contract.confirmDeploymentEnded, path(id)),
    broken: (id: string) => owner().call(contract.reportBrokenRollout, path(id)),
    'lease over': async (id: string) => {
      await endLease(id)
      await Promise.all([expire(), expire()])
    },
    'a day': async (id: string) => {
      await system.db
        .update(deployments)
        .set({ requestedAt: new Date(system.clock.now().getTime() - 25 * 3_600_000) })
        .where(isDeployment(id))
      await Promise.all([expire(), expire()])
    },
  }
  type Action = keyof typeof ACTIONS
  const act = (action: Action, id: string): Promise<unknown> => ACTIONS[action](id)

  const C = 'CONFLICT'
  const same = undefined
  /** What each action makes of each state; nothing: it stays as it is. */
  const TABLE: Record<Start, Partial<Record<Action, string | undefined>>> = {
    queued: {
      claim: 'running',
      report: C,
      'exit 0': C,
      'exit 1': C,
      'stopped, exit 0': C,
      'time out': C,
      'wrong fence': C,
      cancel: 'cancelled',
      confirm: C,
      broken: C,
      'a day': 'failed NO_RUNNER',
    },
    running: {
      'exit 0': 'succeeded',
      'exit 1': 'failed BUILD_FAILED',
      'stopped, exit 0': 'failed RUNNER_FAILED',
      'time out': 'failed TIMED_OUT',
      'wrong fence': C,
      cancel: 'running stopping',
      confirm: C,
      broken: C,
      'lease over': 'failed RUNNER_LOST',
    },
    stopping: {
      'exit 0': 'succeeded',
      'exit 1': 'cancelled',
      'stopped, exit 0': 'cancelled',
      'time out': 'cancelled',
      'wrong fence': C,
      confirm: C,
      broken: C,
      'lease over': 'failed RUNNER_LOST',
    },
    succeeded: {
      report: C,
      'wrong fence': C,
      cancel: C,
      confirm: C,
      broken: 'failed ROLLOUT_FAILED',
    },
    failed: { report: C, 'wrong fence': C, cancel: C, confirm: C, broken: C },
    lost: { report: C, 'wrong fence': C, cancel: C, broken: C },
    cancelled: {
      report: C,
      'exit 0': C,
      'exit 1': C,
      'stopped, exit 0': C,
      'time out': C,
      'wrong fence': C,
      confirm: C,
      broken: C,
    },
  }
  const stateOf = async (id: string) => {
    const { state, code, cancel_requested } = await show(id)
    return `${state}${code === null ? '' : ` ${code}`}${state === 'running' && cancel_requested ? ' stopping' : ''}`
  }

  const starts: Start[] = ['queued', 'running', 'succeeded']
  test.each(inject('everyCase') ? (Object.keys(STATES) as Start[]) : starts)('from %s', async (start) => {
    const table: unknown[] = []
    const expected: unknown[] = []
    for (const action of Object.keys(ACTIONS) as Action[]) {
      app = await makeApp(system, org!)
      revision = await makeRevision(system, app)
      const id = await STATES[start]()
      const before = await stateOf(id)
      const refused = await act(action, id).then(() => undefined, codeOf)
      const after = await stateOf(id)
      const outcome = TABLE[start][action]
      table.push([action, refused, after, (await eventsOf(id)).length])
      const state = outcome === C || outcome === same ? before : outcome
      expected.push([action, outcome === C ? C : undefined, state, state.startsWith('failed') ? 1 : 0])
      // Whatever comes afterwards: failed is told once.
      if (state !== before && state.startsWith('failed')) {
        for (const again of Object.keys(ACTIONS) as Action[]) await act(again, id).catch(() => {})
        expect(await eventsOf(id)).toHaveLength(1)
        expect(await stateOf(id)).toBe(state)
      }
    }
    expect(table).toEqual(expected)
  })

  test('the event carries the code, the app, and nothing that somebody wrote', async () => {
    const { id, path: held } = await running()
    await finish(held, 3)
    expect(await eventsOf(id)).toMatchObject([
      { type: 'deploy.failed', appId: app.id, data: { deployment_id: id, code: 'BUILD_FAILED' } },
    ])
    expect(await show(id)).toMatchObject({ state: 'failed', exit_code: 3, runner: 'runner 1' })
  })

  test('a rollout may be reported as broken for a day, not later', async () => {
    const { id, path: held } = await running()
    await finish(held)
    const endedAt = (hours: number) => new Date(system.clock.now().getTime() - hours * 3_600_000)
    await system.db
      .update(deployments)
      .set({ endedAt: endedAt(25) })
      .where(isDeployment(id))
    await expect(act('broken', id)).rejects.toMatchObject({ code: 'CONFLICT' })
    const lately = endedAt(23)
    await system.db.update(deployments).set({ endedAt: lately }).where(isDeployment(id))
    expect(await act('broken', id)).toMatchObject({ state: 'failed', code: 'ROLLOUT_FAILED' })
    // It ended when it ended.
    expect((await show(id)).ended_at).toBe(lately.toISOString())
  })
})

describe('the queue', () => {
  test('one runs at a time, in the order they were requested, each with a greater fence', async () => {
    const first = await deploy()
    const second = await deploy()
    const claimed = await claim()
    expect(claimed.deployment?.id).toBe(first.id)
    expect((await claim()).deployment).toBeNull()
    await finish({ alias: app.alias, deployment_id: first.id, fence: claimed.fence! }, 1)
    const next = await claim()
    expect(next.deployment?.id).toBe(second.id)
    expect(next.fence).toBeGreaterThan(claimed.fence!)
  })

  test('after a lost runner the next one waits for a person, or for the word of that runner', async () => {
    for (const word of ['person', 'runner'] as const) {
      const lost = await running()
      await deploy()
      await endLease(lost.id)
      await expire()
      expect(await show(lost.id)).toMatchObject({ state: 'failed', code: 'RUNNER_LOST', blocks_next: true })
      expect((await claim()).deployment).toBeNull()
      if (word === 'runner') await finish(lost.path, 0)
      else {
        const said = { alias: app.alias, deployment_id: lost.id }
        for (let n = 0; n < 2; n++) await owner().call(contract.confirmDeploymentEnded, said)
        expect(await auditOf(lost.id)).toEqual(['deployment.ended_confirmed'])
      }
      // It stays failed, as everybody was told, and is not queued again.
      expect(await show(lost.id)).toMatchObject({ state: 'failed', code: 'RUNNER_LOST', blocks_next: false })
      const next = await claim()
      expect(next.deployment).not.toBeNull()
      await finish({ alias: app.alias, deployment_id: next.deployment!.id, fence: next.fence! })
    }
  })

  test('a command that is asked to stop has been cancelled, whatever it ends with, and is asked once', async () => {
    const { id, path } = await running()
    for (let n = 0; n < 2; n++)
      await owner().call(contract.cancelDeployment, { alias: app.alias, deployment_id: id })
    expect(await finish(path, 143)).toMatchObject({ state: 'cancelled', exit_code: 143, code: null })
    expect(await auditOf(id)).toEqual(['deployment.cancelled'])
  })

  test('a runner that could not report is not lost, until it has had the time of a lease', async () => {
    const { id } = await running()
    await endLease(id)
    const startedAt = system.clock.now()
    // The server was away, and this is the first thing it does.
    await expire(startedAt)
    expect((await show(id)).state).toBe('running')
    system.clock.advance(DEPLOYMENT_LEASE_SECONDS - 1)
    await expire(startedAt)
    expect((await show(id)).state).toBe('running')
    system.clock.advance(1)
    await expire(startedAt)
    expect(await show(id)).toMatchObject({ state: 'failed', code: 'RUNNER_LOST' })
  })

  test('what waits behind a long deployment does not lack a runner', async () => {
    const hoursAgo = (hours: number) => new Date(system.clock.now().getTime() - hours * 3_600_000)
    const { id: first, path } = await running()
    const { id } = await deploy()
    await system.db
      .update(deployments)
      .set({ requestedAt: hoursAgo(25) })
      .where(isDeployment(id))
    await expire()
    expect((await show(id)).state).toBe('queued')
    await finish(path)
    await expire()
    expect((await show(id)).state).toBe('queued')
    await system.db
      .update(deployments)
      .set({ releasedAt: hoursAgo(25) })
      .where(isDeployment(first))
    await expire()
    expect(await show(id)).toMatchObject({ state: 'failed', code: 'NO_RUNNER' })
  })

  test('a claim whose answer was lost is repeated by its id, and gives the same one', async () => {
    await deploy()
    const mine = { claim_id: 'a-claim-of-mine' }
    const first = await claim(owner(), mine)
    expect(await claim(owner(), mine)).toEqual(first)
    expect((await claim(owner(), { claim_id: 'another-claim' })).deployment).toBeNull()
    // Of another app it is another claim, and what the runner executes is kept without its secrets.
    const beside = await makeApp(system, org!)
    const asked = { alias: beside.alias, runner: 'r', command: './deploy.sh --password=correcthorse' }
    expect((await owner().call(contract.claimDeployment, { ...asked, ...mine })).deployment).toBeNull()
    const kept = await system.db.select().from(apps).where(eq(apps.alias, beside.alias))
    expect(kept.map(({ runnerCommands }) => runnerCommands)).toEqual([['./deploy.sh --password=[hidden]']])
    await finish({ alias: app.alias, deployment_id: first.deployment!.id, fence: first.fence! })
    expect((await claim(owner(), mine)).deployment).toBeNull()
  })

  test('whoever waits is told when there is something to claim, and does not hold it', async () => {
    const beside = await makeApp(system, org!)
    const wait = ({ alias, id }: App) =>
      untilAsked(
        system.db,
        new RegExp(`as holder[^]*${id}`),
        () => owner().call(contract.claimDeployment, { alias, runner: 'r', wait_seconds: 15 }),
        2,
      )
    // Its time is over first.
    const other = await wait(beside)
    const waiting = await wait(app)
    const { id } = await deploy()
    const first = Promise.race([
      waiting.going.then(() => 'the one that is told'),
      other.going.then(() => 'the other'),
    ])
    expect(await first).toBe('the one that is told')
    expect((await waiting.going).deployment).toBeNull()
    await deploy(await makeRevision(system, beside), beside)
    expect((await other.going).deployment).toBeNull()
    expect((await show(id)).state).toBe('queued')
    expect((await claim()).deployment?.id).toBe(id)
  })

  test('nothing is claimed for a runner that has hung up', async () => {
    const { id } = await deploy()
    // Only what the verb reads of it.
    const principal = (signal: AbortSignal) =>
      ({ kind: 'app_token', orgId: org!.id, app: { id: app.id, scope: 'apps:run' }, signal }) as Principal
    const verb = claimDeployment({ ...deps(), directory: system.system.gateway!.directory })
    const input = { alias: app.alias, runner: 'gone', claim_id: 'of-the-gone', wait_seconds: 0 }
    const gone = await verb(principal(AbortSignal.abort()), input)
    expect(gone).toEqual({ deployment: null, fence: null, lease_seconds: DEPLOYMENT_LEASE_SECONDS })
    expect((await show(id)).state).toBe('queued')
    const there = await verb(principal(new AbortController().signal), input)
    expect(there.deployment?.id).toBe(id)
    // What it holds does not live on by a claim that nobody waits for.
    expect((await verb(principal(AbortSignal.abort()), input)).deployment).toBeNull()
  })

  test.skipIf(hasOneConnection)(
    'a claim that is repeated while the first is being made brings the same deployment',
    async () => {
      const { id } = await deploy()
      const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const holding = system.db.transaction(async (tx) => {
        await tx.select().from(apps).where(eq(apps.id, app.id)).for('no key update')
        locked.resolve()
        await release.promise
      })
      await locked.promise
      const claims = [1, 2].map(() => claim(owner(), { claim_id: 'the-same', wait_seconds: 0 }))
      await expect
        .poll(async () => {
          const [waiting] = await system.db.execute<{ n: number }>(
            sql`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          )
          return waiting!.n
        })
        .toBe(2)
      release.resolve()
      await holding
      expect((await Promise.all(claims)).map(({ deployment }) => deployment?.id)).toEqual([id, id])
    },
  )

  test('so many of an organization wait, and no more; another organization is not concerned', async () => {
    const theirs = await makeApp(system, other!)
    const linesBefore = system.logLines.length
    const waits = Array.from({ length: FAIR_QUEUES.deploymentWaits.running.organization + 5 }, () =>
      claim(owner(), { wait_seconds: 1 }).then(() => 'waited', codeOf),
    )
    const beside = other!.owner.call(contract.claimDeployment, {
      alias: theirs.alias,
      runner: 'r',
      wait_seconds: 1,
    })
    const outcomes = await Promise.all(waits)
    expect(outcomes.filter((outcome) => outcome === 'RATE_LIMITED')).toHaveLength(5)
    expect((await beside).deployment).toBeNull()
    // Whoever waits for work leaves no line for operators; whoever is refused does.
    const atInfo = system.logLines
      .slice(linesBefore)
      .map((line) => JSON.parse(line) as { level: string; route?: string; event: string })
      .filter(({ level, route }) => level === 'info' && route?.includes('claimDeployment'))
    expect(atInfo.map(({ event }) => event)).toEqual(Array(5).fill('request refused'))
  })

  test('it has an end', async () => {
    const [row] = await system.db
      .select()
      .from(deployments)
      .where(isDeployment((await deploy()).id))
    await system.db.insert(deployments).values(
      Array.from({ length: DEPLOYMENTS_QUEUED_MAX - 1 }, (_, index) => ({
        ...row!,
        id: `${row!.id}${index}`,
        fence: index + 2,
      })),
    )
    await expect(deploy()).rejects.toMatchObject({ code: 'CONFLICT' })
    // Of each app by itself.
    const beside = await makeApp(system, org!)
    expect(await deploy(await makeRevision(system, beside), beside)).toMatchObject({ state: 'queued' })
  })
})

describe('rolling back', () => {
  const succeed = async (revision_id: string, exit_code = 0) => {
    const { id } = await deploy(revision_id)
    const { fence } = await claim()
    await finish({ alias: app.alias, deployment_id: id, fence: fence! }, exit_code)
    return id
  }
  const rollBack = () => owner().call(contract.rollBackDeployment, { alias: app.alias })

  test('deploys what succeeded before the last deployment', async () => {
    await expect(rollBack()).rejects.toMatchObject({ code: 'CONFLICT' })
    const [a, b, c] = [revision, await makeRevision(system, app), await makeRevision(system, app)]
    await succeed(a)
    await expect(rollBack()).rejects.toMatchObject({ code: 'CONFLICT' })
    for (let n = 0; n < 2; n++) await succeed(b)
    const back = await rollBack()
    expect(back).toMatchObject({ revision_id: a, state: 'queued' })
    await owner().call(contract.cancelDeployment, { alias: app.alias, deployment_id: back.id })
    // One that failed halfway is gone back from, too: to what ran before it.
    await succeed(c, 1)
    expect((await rollBack()).revision_id).toBe(b)
  })
})

describe('the output', () => {
  const append = (path: object, text: string, position: number, last = false) =>
    owner().call(contract.reportDeploymentOutput, {
      ...(path as { alias: string; deployment_id: string; fence: number }),
      text,
      position,
      last,
    })
  const read = (deployment_id: string, after = 0) =>
    owner().call(contract.readDeploymentOutput, { alias: app.alias, deployment_id, after })

  test('is kept in whole lines, masked also where a secret lies across two pieces, and read on from a position', async () => {
    const { id, path } = await running()
    expect(await append(path, 'begin\npassword=correct', 0)).toEqual({ position: 6, cancelled: false })
    expect(await read(id)).toMatchObject({ text: 'begin\n', next: 6, ended: false })
    const { position } = await append(path, 'password=correcthorse\n\u001b[31mred\u202e', 6)
    expect(position).toBe(28)
    // A repeated request changes nothing.
    await append(path, 'password=correcthorse\n', 6)
    await append(path, '\u001b[31mred\u202e', 28, true)
    await finish(path)
    const rest = await read(id, 6)
    expect(rest).toMatchObject({ text: 'password=[hidden]\nred', ended: true, dropped_bytes: 0 })
    const stored = await system.db
      .select()
      .from(deploymentOutput)
      .where(and(eq(deploymentOutput.orgId, org!.id), eq(deploymentOutput.deploymentId, id)))
    expect(JSON.stringify(stored)).not.toContain('correct')
    // More of it than one answer has is not over with the first one.
    const { orgId, deploymentId, at } = stored[0]!
    const more = Array.from({ length: 8 }, (_, n) => ({ position: rest.next + n, until: rest.next + n + 1 }))
    await system.db
      .insert(deploymentOutput)
      .values(more.map((one) => ({ ...one, orgId, deploymentId, at, text: '.' })))
    const first = await read(id, rest.next - 1)
    expect(first.ended).toBe(false)
    expect(await read(id, first.next)).toMatchObject({ ended: true, next: rest.next + 8 })
  })

  test('its beginning and its end are kept, and what is left out is counted', async () => {
    const { id, path } = await running()
    const { headBytes, tailBytes } = DEPLOYMENT_OUTPUT
    let position = 0
    // Long words, which nothing masks.
    const line = `${'output '.repeat(9_000)}\n`
    while (position < headBytes + tailBytes + 4 * line.length) {
      position = (await append(path, position === 0 ? `first\n${line}` : line, position)).position
    }
    // The runner itself left something out.
    position = (await append(path, 'last\n', position + 1_000)).position
    await finish(path)
    let [kept, next] = ['', 0]
    for (;;) {
      const output = await read(id, next)
      kept += output.text
      next = output.next
      if (!output.ended) continue
      expect(kept.startsWith('first\n')).toBe(true)
      expect(kept.endsWith('last\n')).toBe(true)
      expect(kept.length).toBeLessThanOrEqual(headBytes + tailBytes + 2 * 64 * 1024)
      expect(output.dropped_bytes).toBe(position - kept.length)
      return
    }
  })

  test('ends after a while, and the deployment stays', async () => {
    const { id, path } = await running()
    await append(path, 'line\n', 0)
    await finish(path)
    const kept = await running()
    await append(kept.path, 'line\n', 0)
    await finish(kept.path)
    const at = new Date(system.clock.now().getTime() - (DEPLOYMENT_OUTPUT.days + 1) * 24 * 3_600_000)
    const isOutput = eq(deploymentOutput.deploymentId, id)
    const [row] = await system.db.update(deploymentOutput).set({ at }).where(isOutput).returning()
    // More than one statement deletes.
    await system.db
      .insert(deploymentOutput)
      .values(Array.from({ length: 1_200 }, (_, n) => ({ ...row!, position: 10 + n, until: 11 + n })))
    await sweepDeploymentOutput(deps())
    expect(await read(id)).toMatchObject({ text: '', ended: true })
    expect(await system.db.select().from(deploymentOutput).where(isOutput)).toEqual([])
    expect(await read(kept.id)).toMatchObject({ text: 'line\n' })
  })

  test('what is not text, or too much of it, is refused', async () => {
    const { path } = await running()
    for (const given of [
      { text: 'x'.repeat(64 * 1024 + 1), position: 0 },
      { text: 'a\0b', position: 0 },
      { text: 'a', position: -1 },
      { text: 'a', position: 1.5 },
      { text: 'a' },
    ]) {
      const { status } = await answerTo(system, owner(), contract.reportDeploymentOutput, {
        ...path,
        ...given,
      } as never)
      expect(status).toBe(400)
    }
    expect(await append(path, '\ud800 half a character\n', 0)).toMatchObject({ position: 21 })
  })
})

describe('who may', () => {
  test('every member sees deployments; output is for developers and the app’s people; deploying for the latter', async () => {
    const { id } = await running()
    const path = { alias: app.alias, deployment_id: id }
    const may = async ({ call }: Called) => [
      await call(contract.listDeployments, { alias: app.alias }).then(
        ({ deployments: [one] }) => one?.id === id,
        codeOf,
      ),
      await call(contract.showDeployment, path).then(() => true, codeOf),
      await call(contract.readDeploymentOutput, path).then(() => true, codeOf),
      await call(contract.cancelDeployment, path).then(() => true, codeOf),
      await call(contract.createDeployment, { alias: app.alias, revision_id: revision }).then(
        () => true,
        codeOf,
      ),
    ]
    expect(await may(viewer!)).toEqual([true, true, 'FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN'])
    expect(await may(developer!)).toEqual([true, true, true, 'FORBIDDEN', 'FORBIDDEN'])
    await makeAppMember(system, { orgId: org!.id, appId: app.id, userId: viewer!.userId })
    expect(await may(viewer!)).toEqual([true, true, true, true, true])
    const nothing = Array.from({ length: 5 }, () => 'NOT_FOUND')
    expect(await may(other!.owner)).toEqual(nothing)
    // Nor where they have an app of the same name.
    await makeApp(system, other!, app.alias)
    expect(await may(other!.owner)).toEqual([false, ...nothing.slice(1)])
  })

  test('a revision of another app, or of another organization, does not exist', async () => {
    const beside = await makeRevision(system, await makeApp(system, org!))
    const theirs = await makeRevision(system, await makeApp(system, other!))
    for (const unknown of [beside, theirs, `rev_${'0'.repeat(25)}`]) {
      await expect(deploy(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  test('a runner token claims and reports for its app, and does nothing else', async () => {
    const runner = await tokenFor('apps:run')
    const { id } = await deploy()
    const claimed = await claim(runner)
    expect(claimed.deployment?.id).toBe(id)
    const path = { alias: app.alias, deployment_id: id, fence: claimed.fence! }
    await runner.call(contract.reportDeploymentOutput, { ...path, text: 'line\n', position: 0 })
    const one = { alias: app.alias, deployment_id: id }
    const refused = await Promise.all(
      [
        runner.call(contract.listDeployments, { alias: app.alias }),
        runner.call(contract.readDeploymentOutput, one),
        runner.call(contract.cancelDeployment, one),
        runner.call(contract.createDeployment, { alias: app.alias, revision_id: revision }),
        runner.call(contract.rollBackDeployment, { alias: app.alias }),
        runner.call(contract.confirmDeploymentEnded, one),
      ].map((answer) => answer.then(() => 'done', codeOf)),
    )
    expect(new Set(refused)).toEqual(new Set(['FORBIDDEN']))
    expect(await runner.call(contract.finishDeployment, { ...path, exit_code: 0 })).toMatchObject({
      state: 'succeeded',
    })
    expect(
      await runner.call(contract.reportBrokenRollout, { alias: app.alias, deployment_id: id }),
    ).toMatchObject({
      code: 'ROLLOUT_FAILED',
    })
    await expect(claim(await tokenFor('apps:report'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(claim(await tokenFor('apps:run', await makeApp(system, org!)))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })
})
