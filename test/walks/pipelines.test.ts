/** Scheduled jobs of apps: runs at their time, workers that claim and report them, and one alert per trouble. */
import { and, asc, eq, sql } from '../../db/drizzle.ts'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { events, outbox, pipelineRuns, pipelines, pipelineWorkers } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createAppToken, revokeAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { PIPELINE_RUNS, PIPELINE_WORKERS_PER_APP, PIPELINES_PER_APP } from '../../src/contracts/limits.ts'
import type { Input } from '../../src/contracts/operations.ts'
import {
  claimPipelineRun,
  createPipeline,
  finishPipelineRun,
  keepPipelineRun,
  listPipelineRuns,
  listPipelines,
  removePipeline,
  showPipeline,
  startPipelineRun,
  updatePipeline,
} from '../../src/contracts/pipelines.ts'
import { FAIR_QUEUES } from '../../src/contracts/fair-queues.ts'
import { createWaits } from '../../src/cores/work/index.ts'
import {
  endOverdueRuns,
  makeDueRuns,
  recomputeDueTimes,
  sweepPipelineRuns,
} from '../../src/cores/pipelines/index.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { untilAsked } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let [org, other]: Org[] = []
/** By API tokens, which outlive the weeks that these tests take. */
let [builder, viewer]: (Person & { call: Call })[] = []

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
  const withToken = async (at: Org, person: Person) => ({
    ...person,
    ...(await makeApiToken(system, at, person)),
  })
  const withOwner = async (made: Org): Promise<Org> => ({ ...made, owner: await withToken(made, made.owner) })
  ;[org, other] = [
    await withOwner(await makeOrganization(system)),
    await withOwner(await makeOrganization(system)),
  ]
  ;[builder, viewer] = [
    await withToken(org, await makeMember(system, org, 'viewer')),
    await withToken(org, await makeMember(system, org, 'viewer')),
  ]
})
afterAll(() => system.stop())
// Those of earlier tests would be due with every night of later ones.
afterEach(() => system.db.update(pipelines).set({ nextDueAt: null }))

const log = {
  warn(event: string, fields?: object) {
    throw new Error(event, { cause: fields })
  },
}
const loopDeps = () => ({ db: system.db, clock: () => system.clock.now(), log })
const MINUTE = 60
const DAY = 24 * 60 * MINUTE

/** What the loop does, until there is nothing left to do. `since`: when its process began to look. */
async function turn(since = new Date(0)): Promise<void> {
  while ((await makeDueRuns(loopDeps(), { since })) + (await endOverdueRuns(loopDeps(), { since })) > 0);
}

function advanceTo(time: string | Date, seconds = 0): void {
  const ms = new Date(time).getTime() + seconds * 1000 - system.clock.now().getTime()
  system.clock.advance(ms / 1000)
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )

type Settings = Partial<Omit<Input<'createPipeline'>, 'alias'>>

/** What a claim of this worker looks for runs with, before it waits. */
const looking = (name: string) => new RegExp(`from pipeline_runs r join pipelines[^]*${name}`)

/** An app with a pipeline, which runs every night unless it is told otherwise, and the token of its workers. */
async function scene(settings: Settings = {}, { owner }: Org = org!, alias = unique('shop')) {
  await owner.call(createApp, { alias, name: 'Shop' })
  const { token, id: token_id } = await owner.call(createAppToken, {
    alias,
    name: 'worker',
    scope: 'apps:report',
  })
  const { id } = await owner.call(createPipeline, { alias, name: 'nightly', cron: '0 3 * * *', ...settings })
  const path = { alias, pipeline_id: id }
  const report = system.as({ token })
  const show = () => owner.call(showPipeline, path)
  const runs = async () => (await owner.call(listPipelineRuns, path)).runs
  const worker = (name = 'worker-1', names = ['nightly']) => ({
    claim: (wait_seconds = 0, claim_id?: string) =>
      report(claimPipelineRun, { alias, worker: name, pipelines: names, wait_seconds, claim_id }),
    /** Claims what is there, and says how it went. */
    async work(succeeded = true, message?: string) {
      const { run, fence } = await this.claim()
      if (run) await finish({ run_id: run.id, fence: fence! }, succeeded, message)
      return run
    },
  })
  const finish = (claim: { run_id: string; fence: number }, succeeded = true, message?: string) =>
    report(finishPipelineRun, { alias, ...claim, succeeded, message })
  const keep = (claim: { run_id: string; fence: number }) => report(keepPipelineRun, { alias, ...claim })
  /** The last words of its events, in their order, delivered or not. */
  async function told(): Promise<string[]> {
    const isAbout = `pipelines/${id}`
    const rows = [
      ...(await system.db.select().from(events).where(eq(events.subject, isAbout))),
      ...(await system.db.select().from(outbox).where(eq(outbox.subject, isAbout))),
    ]
    return rows.toSorted((a, b) => a.seq - b.seq).map(({ type }) => type.replace('pipeline.run.', ''))
  }
  /** Until a few seconds after its next time. `present`: who calls shortly before. */
  async function untilDue(...present: { claim(): Promise<unknown> }[]): Promise<void> {
    const { next_due_at } = await show()
    advanceTo(next_due_at!, -20)
    for (const one of present) await one.claim()
    advanceTo(next_due_at!, 2)
    await turn()
  }
  return { alias, path, token_id, call: owner.call, report, show, runs, worker, finish, keep, told, untilDue }
}

const claimed = ({ run, fence }: { run: { id: string } | null; fence: number | null }) => ({
  run_id: run!.id,
  fence: fence!,
})

describe('who may', () => {
  test('whoever works on the app changes its pipelines, others of the organization read them', async () => {
    const { alias, path, call } = await scene()
    const name = 'weekly'
    expect(await codeOf(builder!.call(createPipeline, { alias, name }))).toBe('FORBIDDEN')
    await call(setAppMember, { alias, user_id: builder!.userId, role: 'builder' })
    const { id } = await builder!.call(createPipeline, {
      alias,
      name,
      cron: '@weekly',
      timezone: 'Europe/Berlin',
    })
    const listed = await viewer!.call(listPipelines, { alias })
    expect(listed.pipelines.map((one) => one.name)).toEqual(['nightly', 'weekly'])
    expect(listed.pipelines[1]).toMatchObject({
      id,
      concurrency: 'skip',
      enabled: true,
      trouble: null,
      last_run: null,
    })
    const refused = [
      viewer!.call(updatePipeline, { ...path, enabled: false }),
      viewer!.call(startPipelineRun, path),
      viewer!.call(removePipeline, path),
      viewer!.call(claimPipelineRun, { alias, worker: 'w', pipelines: [name] }),
    ]
    expect(new Set(await Promise.all(refused.map(codeOf)))).toEqual(new Set(['FORBIDDEN']))
    await builder!.call(removePipeline, { alias, pipeline_id: id })
    expect(await codeOf(viewer!.call(showPipeline, { alias, pipeline_id: id }))).toBe('NOT_FOUND')
  })

  test('a token of the app claims and reports for its own app, and does nothing else', async () => {
    const [mine, theirs] = [await scene({ cron: null }), await scene({ cron: null })]
    await mine.call(startPipelineRun, mine.path)
    const claim = claimed(await mine.worker().claim())
    expect(await codeOf(mine.report(createPipeline, { alias: mine.alias, name: 'more' }))).toBe('FORBIDDEN')
    expect(await codeOf(mine.report(listPipelineRuns, mine.path))).toBe('FORBIDDEN')
    const elsewhere = { alias: theirs.alias, worker: 'w', pipelines: ['nightly'] }
    expect(await codeOf(mine.report(claimPipelineRun, elsewhere))).toBe('NOT_FOUND')
    expect(await codeOf(theirs.finish(claim))).toBe('NOT_FOUND')
    expect(await codeOf(theirs.keep(claim))).toBe('NOT_FOUND')
    expect(await codeOf(mine.finish({ ...claim, fence: claim.fence + 1 }))).toBe('CONFLICT')
    await mine.finish(claim)
    await mine.call(revokeAppToken, { alias: mine.alias, token_id: mine.token_id })
    expect(await codeOf(mine.worker().claim())).toBe('UNAUTHENTICATED')
  })

  test('two organizations see nothing of each other, by names that are the same', async () => {
    const here = await scene()
    const there = await scene({}, other, here.alias)
    await there.call(startPipelineRun, there.path)
    expect(await here.worker().work()).toBeNull()
    const refused = [
      here.call(showPipeline, there.path),
      here.call(listPipelineRuns, { ...there.path, alias: here.alias }),
      here.call(updatePipeline, { ...there.path, alias: here.alias, enabled: false }),
      here.call(removePipeline, { ...there.path, alias: here.alias }),
      here.call(startPipelineRun, { ...there.path, alias: here.alias }),
    ]
    expect(new Set(await Promise.all(refused.map(codeOf)))).toEqual(new Set(['NOT_FOUND']))
    const claim = claimed(await there.worker().claim())
    const stolen = here.report(finishPipelineRun, { alias: here.alias, ...claim, succeeded: true })
    expect(await codeOf(stolen)).toBe('NOT_FOUND')
    const listed = await here.call(listPipelines, { alias: here.alias })
    expect(listed.workers.map(({ name }) => name)).toEqual(['worker-1'])
    expect(listed.pipelines.map(({ id }) => id)).toEqual([here.path.pipeline_id])
    expect(await here.runs()).toEqual([])
  })

  test('what a worker writes is masked, on one line, and for those who may read logs', async () => {
    const { path, worker, call, runs } = await scene({ cron: null })
    await call(startPipelineRun, path)
    const hostile = 'down:\n\u202epassword=hun\u200bter2-secret\u0007 <script>alert(1)</script>'
    await worker().work(false, hostile)
    const [run] = await runs()
    expect(run).toMatchObject({ state: 'failed', code: 'REPORTED', scheduled: false, worker: 'worker-1' })
    expect(run!.message).toBe('down: password=[hidden] <script>alert(1)</script>')
    const [seen] = (await viewer!.call(listPipelineRuns, path)).runs
    expect(seen).toMatchObject({ id: run!.id, state: 'failed', message: null })
  })
})

describe('bad input', () => {
  test.each<[Settings, string[]]>([
    [{ cron: '0 3 31 2 *' }, ['cron: never comes due']],
    [{ cron: 'soon' }, ['cron: must be a cron expression of five parts, such as 0 3 * * *']],
    [{ cron: '2026-12-01T00:00:00' }, ['cron: must be a cron expression of five parts, such as 0 3 * * *']],
    [
      { timezone: '+02:00', grace_minutes: 0 },
      ['timezone: must be a time zone such as Europe/Vienna or UTC', expect.stringContaining('grace')],
    ],
    [
      { grace_minutes: 0, timeout_minutes: 1441 },
      [expect.stringContaining('grace'), expect.stringContaining('time')],
    ],
    [{ name: 'Not Kebab' }, [expect.stringContaining('name')]],
  ])('%j is refused with every problem', async (settings, problems) => {
    const { alias, path, call } = await scene()
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error: unknown) => error,
      )
    const create = call(createPipeline, { alias, name: 'other', ...settings })
    expect(await refusal(create)).toMatchObject({ code: 'INVALID_REQUEST', problems })
    const { name, ...changes } = settings
    if (name === undefined) {
      expect(await refusal(call(updatePipeline, { ...path, ...changes }))).toMatchObject({ problems })
    }
    expect((await call(listPipelines, { alias })).pipelines).toHaveLength(1)
  })

  test('an offset that was stored when it was allowed is shown, and all else can be changed', async () => {
    const { path, call, show } = await scene()
    await system.db.update(pipelines).set({ timezone: '+02:00' }).where(eq(pipelines.id, path.pipeline_id))
    expect(await show()).toMatchObject({ timezone: '+02:00' })
    const changed = await call(updatePipeline, { ...path, cron: '0 5 * * *' })
    expect(changed).toMatchObject({ timezone: '+02:00', next_due_at: expect.stringContaining('T03:00') })
  })

  test('a name is there once in an app, and a key repeats nothing', async () => {
    const { alias, path, call } = await scene({ cron: null, concurrency: 'queue' })
    expect(await codeOf(call(createPipeline, { alias, name: 'nightly' }))).toBe('CONFLICT')
    for (let n = 0; n < PIPELINE_RUNS.waiting; n++) await call(startPipelineRun, path)
    expect(await codeOf(call(startPipelineRun, path))).toBe('CONFLICT')
  })
})

describe('a night', () => {
  test('the run is made at its time, claimed with a fence, kept and reported', async () => {
    const { worker, untilDue, show, runs, keep, finish, told } = await scene({ timezone: 'Europe/Berlin' })
    const [one, two] = [worker(), worker('worker-2')]
    const due = (await show()).next_due_at
    await untilDue(one)
    expect((await show()).next_due_at).toBe(new Date(Date.parse(due!) + DAY * 1000).toISOString())
    expect(await runs()).toMatchObject([{ state: 'queued', due_at: due, scheduled: true, worker: null }])
    const first = await one.claim()
    expect(first).toMatchObject({
      run: { state: 'running', pipeline: 'nightly' },
      lease_seconds: 60,
    })
    // Above it are the changes of the database's timeline, which another walk may have made.
    expect(first.fence! % 1_000_000).toBe(1)
    expect(await two.claim()).toMatchObject({ run: null, fence: null })
    expect(await keep(claimed(first))).toEqual({ lease_seconds: 60 })
    expect(await finish(claimed(first))).toMatchObject({ state: 'succeeded', code: null })
    // The answer was lost: the same report again changes nothing, another one is refused.
    expect(await finish(claimed(first))).toMatchObject({ state: 'succeeded' })
    expect(await codeOf(finish(claimed(first), false))).toBe('CONFLICT')
    expect(await codeOf(keep(claimed(first)))).toBe('CONFLICT')
    await untilDue(one)
    expect((await two.claim()).fence).toBe(2)
    expect(await told()).toEqual([])
    expect((await show()).recent_runs.map(({ state }) => state)).toEqual(['running', 'succeeded'])
  })

  test.runIf(inject('everyCase'))('on the days when the clocks change', async () => {
    advanceTo('2026-03-27T12:00:00Z')
    const { worker, untilDue, runs } = await scene({ cron: '30 2 * * *', timezone: 'Europe/Berlin' })
    for (let night = 0; night < 3; night++) {
      await untilDue(worker())
      await worker().work()
    }
    expect((await runs()).map(({ due_at }) => due_at.slice(5, 16))).toEqual([
      '03-30T00:30',
      '03-29T01:00',
      '03-28T01:30',
    ])
  })
})

type Night = 'ok' | 'fails' | 'offline' | 'ignored' | 'lost' | 'hangs' | 'late'

describe('each event once', () => {
  /** One of each kind of trouble. */
  const NIGHTS: readonly [string, readonly Night[], readonly string[]][] = [
    ['nothing started within the grace', ['ignored', 'ignored', 'ok'], ['missed', 'recovered']],
    ['a week offline', Array<Night>(7).fill('offline'), ['host_offline']],
    ['a worker that vanishes, and one that hangs', ['lost', 'hangs', 'ok'], ['failed', 'recovered']],
    ['a worker that comes back within the grace', ['late'], ['host_offline', 'recovered']],
  ]
  const MORE_NIGHTS: typeof NIGHTS = [
    ['well', ['ok', 'ok'], []],
    ['failing nightly, then well', ['fails', 'fails', 'fails', 'ok', 'ok'], ['failed', 'recovered']],
    ['a week offline, then well', [...Array<Night>(7).fill('offline'), 'ok'], ['host_offline', 'recovered']],
    ['flapping', ['fails', 'ok', 'fails', 'ok'], ['failed', 'recovered', 'failed', 'recovered']],
    [
      'one trouble after another, and back',
      ['offline', 'fails', 'offline', 'ignored', 'fails', 'ok', 'fails'],
      ['host_offline', 'recovered', 'failed'],
    ],
  ]
  test.each(inject('everyCase') ? [...NIGHTS, ...MORE_NIGHTS] : NIGHTS)('%s', async (_, nights, expected) => {
    const { worker, untilDue, told, runs } = await scene()
    const one = worker()
    for (const night of nights) {
      await untilDue(...(night === 'offline' || night === 'late' ? [] : [one]))
      if (night === 'ok' || night === 'late') await one.work()
      if (night === 'fails') await one.work(false)
      if (night === 'lost' || night === 'hangs') {
        const { run } = await one.claim()
        const isRun = eq(pipelineRuns.id, run!.id)
        const past = sql`now() - interval '1 second'`
        if (night === 'lost') await system.db.update(pipelineRuns).set({ leaseUntil: past }).where(isRun)
        else advanceTo(system.clock.now(), 61 * MINUTE)
      }
      await turn()
      advanceTo(system.clock.now(), 11 * MINUTE)
      await turn()
    }
    expect(await told()).toEqual(expected)
    expect(await runs()).toHaveLength(nights.length)
    expect((await runs()).every(({ ended_at }) => ended_at !== null)).toBe(true)
  })

  test.runIf(inject('everyCase'))('one of two workers is enough', async () => {
    const { worker, untilDue, told } = await scene()
    const [one, two] = [worker(), worker('worker-2')]
    await untilDue(one, two)
    await one.work()
    await untilDue(two)
    await two.work()
    // Connected, but for another pipeline.
    await untilDue(worker('worker-3', ['weekly']))
    expect(await told()).toEqual(['host_offline'])
  })

  test('a worker that is busy with a run is connected', async () => {
    const { alias, worker, untilDue, call, keep, told, path } = await scene()
    const { id } = await call(createPipeline, { alias, name: 'long' })
    await call(startPipelineRun, { alias, pipeline_id: id })
    const busy = worker('worker-1', ['nightly', 'long'])
    const claim = claimed(await busy.claim())
    await untilDue({ claim: () => keep(claim) })
    expect(await told()).toEqual([])
    expect((await call(listPipelineRuns, path)).runs[0]).toMatchObject({ state: 'queued' })
    const { workers } = await call(listPipelines, { alias })
    expect(workers).toMatchObject([{ name: 'worker-1', connected: true, pipelines: ['nightly', 'long'] }])
  })

  test.skipIf(hasOneConnection)('over many processes at the same moment', async () => {
    const { untilDue, show, told, runs, worker, finish } = await scene()
    await untilDue(worker())
    await worker().work()
    advanceTo((await show()).next_due_at!, 2)
    const watch = { since: new Date(0) }
    await Promise.all(Array.from({ length: 8 }, () => makeDueRuns(loopDeps(), watch)))
    expect(await runs()).toHaveLength(2)
    expect(await told()).toEqual(['host_offline'])
    advanceTo(system.clock.now(), 11 * MINUTE)
    await Promise.all(Array.from({ length: 8 }, () => endOverdueRuns(loopDeps(), watch)))
    await untilDue(worker())
    // Two workers reach for one run; the one that gets it reports twice at once.
    const claims = await Promise.all(['a', 'b', 'c', 'd'].map((name) => worker(name).claim()))
    const [mine, ...more] = claims.filter(({ run }) => run !== null)
    expect(more).toEqual([])
    const reports = await Promise.all([1, 2, 3].map(() => finish(claimed(mine!))))
    expect(new Set(reports.map(({ state }) => state))).toEqual(new Set(['succeeded']))
    expect(await told()).toEqual(['host_offline', 'recovered'])
  })

  test('never by a pipeline that is off, or has no schedule', async () => {
    const { worker, untilDue, call, path, told, show, runs } = await scene()
    await untilDue(worker())
    // It waits to be claimed when it is switched off.
    expect(await call(updatePipeline, { ...path, enabled: false })).toMatchObject({ next_due_at: null })
    expect(await runs()).toMatchObject([{ state: 'skipped', code: null }])
    const startAndFail = async () => {
      await call(startPipelineRun, path)
      await worker().work(false)
    }
    await startAndFail()
    await call(updatePipeline, { ...path, enabled: true, cron: null })
    await startAndFail()
    advanceTo(system.clock.now(), 3 * DAY)
    await turn()
    expect(await told()).toEqual([])
    expect((await show()).trouble).toBeNull()
    // Neither for what somebody started by hand and nobody claimed.
    await call(updatePipeline, { ...path, cron: '0 3 * * *' })
    await call(startPipelineRun, path)
    advanceTo(system.clock.now(), 11 * MINUTE)
    await turn()
    expect((await runs())[0]).toMatchObject({ state: 'host_offline', scheduled: false })
    expect(await told()).toEqual([])
    await startAndFail()
    expect(await told()).toEqual(['failed'])
    await call(startPipelineRun, path)
    await worker().work()
    expect(await told()).toEqual(['failed', 'recovered'])
  })
})

describe('a worker that was taken for lost', () => {
  const lose = async ({ worker, untilDue }: Awaited<ReturnType<typeof scene>>) => {
    await untilDue(worker())
    const claim = claimed(await worker().claim())
    await system.db
      .update(pipelineRuns)
      .set({ leaseUntil: sql`now() - interval '1 second'` })
      .where(eq(pipelineRuns.id, claim.run_id))
    await turn()
    return claim
  }

  test('says that its job is done after all: the pipeline is well again', async () => {
    const here = await scene()
    const claim = await lose(here)
    expect(await here.runs()).toMatchObject([{ state: 'failed', code: 'WORKER_LOST' }])
    expect(await codeOf(here.keep(claim))).toBe('CONFLICT')
    expect(await codeOf(here.finish({ ...claim, fence: claim.fence + 1 }))).toBe('CONFLICT')
    for (let n = 0; n < 2; n++) {
      expect(await here.finish(claim)).toMatchObject({ state: 'succeeded', code: null })
    }
    expect(await here.told()).toEqual(['failed', 'recovered'])
    expect((await here.show()).trouble).toBeNull()
    expect(await codeOf(here.finish(claim, false))).toBe('CONFLICT')
  })

  test('says it after a later run has failed: that one stays told', async () => {
    const here = await scene()
    const claim = await lose(here)
    await here.untilDue(here.worker())
    await here.worker().work(false)
    expect(await here.finish(claim)).toMatchObject({ state: 'succeeded' })
    expect(await here.told()).toEqual(['failed'])
    expect((await here.show()).trouble).toBe('failed')
  })

  test('says that it has failed after a later run has succeeded: nobody is told again', async () => {
    const here = await scene()
    const claim = await lose(here)
    await here.untilDue(here.worker())
    await here.worker().work()
    expect(await here.finish(claim, false)).toMatchObject({ state: 'failed', code: 'REPORTED' })
    expect(await here.told()).toEqual(['failed', 'recovered'])
    expect((await here.show()).trouble).toBeNull()
  })

  test('says that it has failed, and why', async () => {
    const here = await scene()
    const claim = await lose(here)
    expect(await here.finish(claim, false, 'disk full')).toMatchObject({
      state: 'failed',
      code: 'REPORTED',
      message: 'disk full',
    })
    expect(await here.told()).toEqual(['failed'])
  })
})

describe('concurrency', () => {
  test('skip: the next one is skipped, without a word', async () => {
    const { worker, untilDue, call, path, runs, told } = await scene({
      timeout_minutes: 1440,
      cron: '0 * * * *',
    })
    await untilDue(worker())
    const claim = await worker().claim()
    expect(await codeOf(call(startPipelineRun, path))).toBe('CONFLICT')
    await untilDue(worker())
    expect((await runs()).map(({ state }) => state)).toEqual(['skipped', 'running'])
    expect(claim.run).not.toBeNull()
    expect(await told()).toEqual([])
  })

  test('queue: the next one waits, and is late only from the end of the one before', async () => {
    const { worker, untilDue, runs, told, finish } = await scene({
      concurrency: 'queue',
      timeout_minutes: 1440,
      cron: '0 * * * *',
    })
    await untilDue(worker())
    const first = await worker().claim()
    await untilDue(worker())
    expect((await worker('worker-2').claim()).run).toBeNull()
    // Long after its grace.
    advanceTo(system.clock.now(), 45 * MINUTE)
    await turn()
    expect((await runs()).map(({ state }) => state)).toEqual(['queued', 'running'])
    advanceTo(system.clock.now(), 9 * MINUTE)
    await finish(claimed(first))
    advanceTo(system.clock.now(), 9 * MINUTE)
    await turn()
    expect(await worker().work()).toMatchObject({ state: 'running' })
    expect(await told()).toEqual([])
  })

  test('allow: both run', async () => {
    const { worker, call, path, runs } = await scene({
      concurrency: 'allow',
      timeout_minutes: 1440,
      cron: null,
    })
    for (let n = 0; n < 2; n++) await call(startPipelineRun, path)
    const both = await Promise.all([worker().claim(), worker('worker-2').claim()])
    const later = await worker().claim()
    expect([...both, later].filter(({ run }) => run !== null)).toHaveLength(2)
    // One that nobody takes does not wait for them.
    await call(startPipelineRun, path)
    advanceTo(system.clock.now(), 45 * MINUTE)
    await turn()
    expect((await runs()).map(({ state }) => state)).toEqual(['missed', 'running', 'running'])
  })

  test.skipIf(hasOneConnection)('never two at once, however many reach for them', async () => {
    const { worker, call, path } = await scene({ concurrency: 'queue', cron: null })
    for (let n = 0; n < 4; n++) await call(startPipelineRun, path)
    for (let n = 0; n < 4; n++) {
      const claims = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => worker(name).claim()))
      const taken = claims.filter(({ run }) => run !== null)
      expect(taken).toHaveLength(1)
      await system.db
        .update(pipelineRuns)
        .set({ state: 'succeeded' })
        .where(eq(pipelineRuns.id, taken[0]!.run!.id))
    }
  })
})

describe('when the server was not there', () => {
  test('of the times that passed only the newest is made, and it was not the worker who missed it', async () => {
    const { worker, untilDue, runs, told, show } = await scene()
    await untilDue(worker())
    await worker().work()
    advanceTo((await show()).next_due_at!, 3 * DAY + 60 * MINUTE)
    const { next_due_at } = await show()
    await turn(system.clock.now())
    expect(await runs()).toMatchObject([
      {
        state: 'missed',
        code: 'SERVER_DOWN',
        due_at: new Date(Date.parse(next_due_at!) + 3 * DAY * 1000).toISOString(),
      },
      { state: 'succeeded' },
    ])
    expect(await told()).toEqual(['missed'])
  })

  test('within the grace the run is made, and workers get time to come back', async () => {
    const { worker, runs, told, show } = await scene()
    advanceTo((await show()).next_due_at!, 9 * MINUTE + 50)
    await turn(system.clock.now())
    expect(await runs()).toMatchObject([{ state: 'queued' }])
    advanceTo(system.clock.now(), 50)
    await turn(new Date(system.clock.now().getTime() - 50_000))
    expect(await worker().work()).toMatchObject({ code: null })
    expect(await told()).toEqual([])
  })

  test('a worker that does not come back after that is offline', async () => {
    const { runs, told, show } = await scene()
    advanceTo((await show()).next_due_at!, 2)
    const started = system.clock.now()
    await turn(started)
    expect(await told()).toEqual([])
    advanceTo(system.clock.now(), 10 * MINUTE)
    await turn(started)
    expect(await runs()).toMatchObject([{ state: 'host_offline' }])
    expect(await told()).toEqual(['host_offline'])
  })

  test('a run whose worker could not report is not lost', async () => {
    const { worker, untilDue, finish, told, runs } = await scene()
    await untilDue(worker())
    const claim = claimed(await worker().claim())
    const past = sql`now() - interval '1 hour'`
    await system.db.update(pipelineRuns).set({ leaseUntil: past }).where(eq(pipelineRuns.id, claim.run_id))
    await turn(system.clock.now())
    expect(await runs()).toMatchObject([{ state: 'running' }])
    await finish(claim)
    expect(await told()).toEqual([])
  })

  test('a clock that is set back makes nothing twice, and nobody from the future is connected', async () => {
    const { worker, untilDue, runs, show, call, alias, told } = await scene()
    await untilDue(worker())
    await worker().work()
    const { next_due_at } = await show()
    system.clock.advance(-2 * DAY)
    await turn()
    expect((await show()).next_due_at).toBe(next_due_at)
    expect((await call(listPipelines, { alias })).workers).toMatchObject([{ connected: false }])
    system.clock.advance(2 * DAY)
    await turn()
    expect(await runs()).toHaveLength(1)
    expect(await told()).toEqual([])
  })
})

describe('when the server is late, or its clock was wrong', () => {
  test('made after its grace, a run is still given to the worker that waits for it', async () => {
    const { worker, show, runs, told } = await scene({ grace_minutes: 1 })
    const due = (await show()).next_due_at!
    advanceTo(due, -20)
    await worker().claim()
    advanceTo(due, 90)
    await turn()
    expect(await runs()).toMatchObject([{ state: 'queued' }])
    expect(await worker().work()).toMatchObject({ due_at: due })
    expect(await told()).toEqual([])
  })

  test.skipIf(hasOneConnection)('a pipeline that another holds is left to them', async () => {
    const { show, runs, path } = await scene()
    advanceTo((await show()).next_due_at!, 2)
    await system.db.transaction(async (tx) => {
      await tx.select().from(pipelines).where(eq(pipelines.id, path.pipeline_id)).for('update')
      expect(await makeDueRuns(loopDeps(), { since: new Date(0) })).toBe(0)
    })
    await turn()
    expect(await runs()).toHaveLength(1)
  })

  test('a due time beyond the schedule is recomputed, others stay', async () => {
    const [here, there] = [await scene(), await scene({ cron: '0 3 29 2 *' }, other)]
    const [due, rare] = [(await here.show()).next_due_at!, (await there.show()).next_due_at!]
    await system.db
      .update(pipelines)
      .set({ nextDueAt: new Date(Date.parse(due) + 365 * DAY * 1000) })
      .where(eq(pipelines.id, here.path.pipeline_id))
    const warned: string[] = []
    await recomputeDueTimes({ ...loopDeps(), log: { warn: (event) => warned.push(event) } })
    expect([(await here.show()).next_due_at, (await there.show()).next_due_at]).toEqual([due, rare])
    expect(warned).toHaveLength(1)
  })
})

describe('changes', () => {
  test('whatever is wrong with its schedule, a pipeline can be changed and switched off', async () => {
    const { call, path, runs } = await scene()
    await system.db
      .update(pipelines)
      .set({ cron: '2020-01-01T00:00:00', nextDueAt: null })
      .where(eq(pipelines.id, path.pipeline_id))
    expect(await call(updatePipeline, { ...path, grace_minutes: 5 })).toMatchObject({ grace_minutes: 5 })
    expect(await call(updatePipeline, { ...path, enabled: false })).toMatchObject({ enabled: false })
    // What somebody has started is no matter of the schedule.
    await call(updatePipeline, { ...path, cron: '0 3 * * *', enabled: true })
    await call(startPipelineRun, path)
    await call(updatePipeline, { ...path, enabled: false })
    expect(await runs()).toMatchObject([{ state: 'queued', ended_at: null }])
  })

  test('an app has so many, and so many workers, whatever others of the organization have', async () => {
    const [here, beside] = [await scene({ cron: null }), await scene({ cron: null })]
    await here.worker().claim()
    const [pipeline] = await system.db.select().from(pipelines).where(eq(pipelines.id, here.path.pipeline_id))
    const { orgId, appId } = pipeline!
    const rest = Array.from({ length: PIPELINES_PER_APP - 1 }, (_, n) => ({
      ...pipeline!,
      id: `${pipeline!.id}${n}`,
      name: `n${n}`,
    }))
    await system.db.insert(pipelines).values(rest)
    const lastSeenAt = system.clock.now()
    const others = Array.from({ length: PIPELINE_WORKERS_PER_APP - 1 }, (_, n) => `other-${n}`)
    await system.db
      .insert(pipelineWorkers)
      .values(others.map((name) => ({ orgId, appId, name, pipelines: [], lastSeenAt })))
    for (const [one, expected] of [
      [here, 'CONFLICT'],
      [beside, 'done'],
    ] as const) {
      const made = one.call(createPipeline, { alias: one.alias, name: 'one-more' })
      expect([await codeOf(made), await codeOf(one.worker('one-more').claim())]).toEqual([expected, expected])
    }
  })

  test('another schedule counts from now; what was due by the old one is not lost', async () => {
    const { worker, untilDue, call, path, show, runs } = await scene()
    await untilDue(worker())
    await worker().work()
    const { next_due_at } = await show()
    advanceTo(next_due_at!, 1)
    const changed = await call(updatePipeline, { ...path, cron: '30 4 * * *' })
    expect(changed.next_due_at).toBe(new Date(Date.parse(next_due_at!) + 90 * MINUTE * 1000).toISOString())
    expect((await runs()).map(({ state, due_at }) => [state, due_at])[0]).toEqual(['queued', next_due_at])
    // The same time again is the same run.
    await system.db
      .update(pipelines)
      .set({ nextDueAt: new Date(next_due_at!), cron: '0 3 * * *' })
      .where(and(eq(pipelines.orgId, org!.id), eq(pipelines.id, path.pipeline_id)))
    await turn()
    expect(await runs()).toHaveLength(2)
  })

  test('a worker that runs a removed pipeline learns of it', async () => {
    const { worker, untilDue, call, path, keep, finish } = await scene()
    await untilDue(worker())
    const claim = claimed(await worker().claim())
    await call(removePipeline, path)
    expect(await codeOf(keep(claim))).toBe('NOT_FOUND')
    expect(await codeOf(finish(claim))).toBe('NOT_FOUND')
    expect(await codeOf(call(removePipeline, path))).toBe('NOT_FOUND')
    await turn()
  })

  test.runIf(inject('everyCase'))('runs are kept up to a number, and read page by page', async () => {
    const { call, path } = await scene({ cron: null })
    const dueAt = system.clock.now()
    const row = { orgId: org!.id, appId: 'app_x', pipelineId: path.pipeline_id, dueAt, isScheduled: false }
    const rows = Array.from({ length: PIPELINE_RUNS.kept + 5 }, (_, n) => ({
      ...row,
      id: `prn_${String(n).padStart(25, '0')}`,
      state: 'succeeded' as const,
      endedAt: dueAt,
    }))
    await system.db.insert(pipelineRuns).values(rows)
    await sweepPipelineRuns(loopDeps())
    const isOfPipeline = eq(pipelineRuns.pipelineId, path.pipeline_id)
    const left = await system.db.select().from(pipelineRuns).where(isOfPipeline).orderBy(asc(pipelineRuns.id))
    expect(left).toHaveLength(PIPELINE_RUNS.kept)
    expect(left[0]!.id).toBe(rows[5]!.id)
    const first = await call(listPipelineRuns, { ...path, limit: 2 })
    const second = await call(listPipelineRuns, { ...path, limit: 2, cursor: first.next_cursor })
    expect([...first.runs, ...second.runs].map(({ id }) => id)).toEqual(
      rows
        .slice(-4)
        .toReversed()
        .map(({ id }) => id),
    )
    expect((await call(listPipelineRuns, { ...path, state: 'failed' })).runs).toEqual([])
  })
})

describe('a claim', () => {
  test('whose answer was lost is repeated by its id, and gives the same run', async () => {
    const [here, there] = [await scene({ cron: null }), await scene({ cron: null }, other)]
    const beside = await scene({ cron: null })
    for (const one of [here, there]) await one.call(startPipelineRun, one.path)
    const first = await here.worker().claim(0, 'a-claim-of-mine')
    expect(first.run).not.toBeNull()
    const past = sql`now() - interval '1 second'`
    await system.db.update(pipelineRuns).set({ leaseUntil: past }).where(eq(pipelineRuns.id, first.run!.id))
    expect(await here.worker().claim(0, 'a-claim-of-mine')).toEqual(first)
    // It holds the lease again.
    await turn()
    expect((await here.worker().claim(0, 'another-claim')).run).toBeNull()
    expect((await there.worker().claim(0, 'a-claim-of-mine')).run).toMatchObject({ worker: 'worker-1' })
    expect((await beside.worker().claim(0, 'a-claim-of-mine')).run).toBeNull()
    await here.finish(claimed(first))
    expect((await here.worker().claim(0, 'a-claim-of-mine')).run).toBeNull()
  })

  test.skipIf(hasOneConnection)('that is repeated at the same moment gives one run', async () => {
    const { worker, call, path, runs } = await scene({ cron: null, concurrency: 'allow' })
    for (let n = 0; n < 3; n++) await call(startPipelineRun, path)
    const claims = await Promise.all(Array.from({ length: 4 }, () => worker().claim(0, 'at-the-same-moment')))
    expect(new Set(claims.map(({ run }) => run?.id)).size).toBe(1)
    expect((await runs()).filter(({ state }) => state === 'running')).toHaveLength(1)
  })
})

describe('a claim that waits', () => {
  test('is told of a run that is started meanwhile, and does not hold it', async () => {
    const { worker, call, path, finish, runs } = await scene({ cron: null })
    const beside = await scene({ cron: null })
    const wait = (of: typeof worker, name: string) =>
      untilAsked(system.db, looking(name), () => of(name, ['nightly', name]).claim(20), 2)
    // Its time is over first.
    const other = await wait(beside.worker, 'beside')
    const waiting = await wait(worker, 'told')
    await call(startPipelineRun, path)
    const first = Promise.race([
      waiting.going.then(() => 'the one that is told'),
      other.going.then(() => 'the other'),
    ])
    expect(await first).toBe('the one that is told')
    expect((await waiting.going).run).toBeNull()
    await beside.call(startPipelineRun, beside.path)
    expect((await other.going).run).toBeNull()
    const claim = await worker().claim()
    expect(claim.run).toMatchObject({ state: 'running' })
    await finish(claimed(claim))
    expect(await runs()).toHaveLength(1)
  })

  test('claims nothing for a token that was revoked meanwhile', async () => {
    const { worker, call, path, alias, token_id, runs } = await scene({ cron: null })
    const waiting = await untilAsked(system.db, looking('nightly'), () => worker().claim(20))
    await call(revokeAppToken, { alias, token_id })
    await call(startPipelineRun, path)
    expect((await waiting.going).run).toBeNull()
    expect(await runs()).toMatchObject([{ state: 'queued', worker: null }])
    expect(await codeOf(worker().claim())).toBe('UNAUTHENTICATED')
  })

  test('is not made for a worker that is gone', async () => {
    const { alias, call, path, runs, worker } = await scene({ cron: null })
    const gone = new AbortController()
    const asked = { alias, worker: 'w', pipelines: ['nightly'], wait_seconds: 20 }
    const waiting = codeOf(
      system.as({ signal: gone.signal, token: org!.owner.token })(claimPipelineRun, asked),
    )
    await expect.poll(async () => (await call(listPipelines, { alias })).workers.length).toBe(1)
    gone.abort()
    await waiting
    // The look that serves all who wait serves this one, too: then the other would have been served.
    const witness = worker('witness', ['nightly', 'witnessed'])
    const told = await untilAsked(system.db, looking('witnessed'), () => witness.claim(20))
    await call(startPipelineRun, path)
    await told.going
    expect(await runs()).toMatchObject([{ state: 'queued' }])
    expect((await witness.claim()).run).toMatchObject({ worker: 'witness' })
  })

  test('so many of an organization wait in a process, and others do not wait behind them', async () => {
    const rules = { ...FAIR_QUEUES.pipelineWaits, running: { organization: 1 } }
    const wait = createWaits(rules, 'pipelines')
    const over = new AbortController()
    const waits = (of: typeof org) =>
      wait(
        loopDeps().db,
        { orgId: of!.id, key: 'app_1' },
        { seconds: 20, signal: over.signal },
        async () => false,
      )
    const first = waits(org)
    await expect(waits(org)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    const second = waits(other)
    over.abort()
    await Promise.all([first, second])
  })
})
