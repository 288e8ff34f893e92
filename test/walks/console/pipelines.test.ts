/** The pages of pipelines: each test reads what a page shows, and sends the forms that it shows. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAppToken } from '../../../src/contracts/app-tokens.ts'
import type { Input } from '../../../src/contracts/operations.ts'
import {
  claimPipelineRun,
  createPipeline,
  finishPipelineRun,
  showPipeline,
  startPipelineRun,
} from '../../../src/contracts/pipelines.ts'
import { endOverdueRuns, makeDueRuns } from '../../../src/cores/pipelines/index.ts'
import { makeShop } from '../../support/console.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

let system: TestSystem
beforeAll(async () => void (system = await startSystem()))
afterAll(() => system.stop())

const MINUTE = 60

async function scene(settings: Partial<Input<'createPipeline'>> = {}) {
  const shop = await makeShop(system)
  const { alias, call } = shop
  const { token } = await call(createAppToken, { alias, name: 'worker', scope: 'apps:report' })
  const given = { concurrency: 'allow', ...settings } as const
  const { id } = await call(createPipeline, { alias, name: 'nightly', ...given })
  const report = system.as({ token })
  const claim = (worker = 'web-1') =>
    report(claimPipelineRun, { alias, worker, pipelines: ['nightly'], wait_seconds: 0 })
  return {
    ...shop,
    id,
    tab: `${shop.app}/pipelines`,
    path: `${shop.app}/pipelines/${id}`,
    claim,
    start: () => call(startPipelineRun, { alias, pipeline_id: id }),
    show: () => call(showPipeline, { alias, pipeline_id: id }),
    work: async (succeeded: boolean, message?: string, minutes = 0): Promise<void> => {
      await call(startPipelineRun, { alias, pipeline_id: id })
      const { run, fence } = await claim()
      system.clock.advance(minutes * MINUTE)
      await report(finishPipelineRun, { alias, run_id: run!.id, fence: fence!, succeeded, message })
    },
  }
}

async function turnLoop(): Promise<void> {
  const deps = {
    db: system.db,
    clock: () => system.clock.now(),
    log: { warn: (event: string) => expect.unreachable(event) },
  }
  const since = { since: new Date(0) }
  while ((await makeDueRuns(deps, since)) + (await endOverdueRuns(deps, since)) > 0);
}

describe('the tab', () => {
  test('empty, it gives the command to those who work on the app, and offers nothing to others', async () => {
    const { app, alias, owner, viewer } = await makeShop(system)
    const page = await owner.open(`${app}/pipelines`)
    expect(page.text).toContain('No pipelines yet')
    expect(page.text).toContain(`svc apps pipelines add ${alias} nightly --cron "0 3 * * *"`)
    expect(page.link('New pipeline')).toBe(`${app}/pipelines/new`)
    const read = await viewer.open(`${app}/pipelines`)
    expect(read.text).toContain('No pipelines yet')
    expect(read.text).not.toContain('svc apps')
    expect(read.offers('New pipeline')).toBe(false)
  })

  test('lists pipelines with their last runs in words, and workers with whether they are there', async () => {
    const { owner, viewer, tab, path, claim, work, start } = await scene()
    expect((await owner.open(tab)).row('nightly')).toBe(
      'nightly | Not run yet | None | Manual | Not scheduled',
    )
    await claim('web-2')
    system.clock.advance(10 * MINUTE)
    await work(true)
    await work(false, 'broken')
    await start()
    await claim()
    await start()
    const page = await owner.open(tab)
    expect(page.link('nightly')).toBe(path)
    expect(page.labels).toContain('Last 4 runs: 1 queued, 1 running, 1 succeeded, 1 failed')
    expect(page.row('nightly')).toMatch(/^nightly \| Queued \|.* \| Manual \| Not scheduled$/)
    expect(page.row('web-1')).toMatch(/^web-1 \| Connected \| nightly \| 2 Mar 2026/)
    expect(page.row('web-2')).toMatch(/^web-2 \| Offline \| nightly \| 2 Mar 2026/)
    expect((await viewer.open(tab)).rows).toEqual(page.rows)
  })

  test('tells a schedule, when it is due, and what became of a time that nobody came for', async () => {
    const { owner, tab, path, claim, show } = await scene({ cron: '0 * * * *', timezone: 'Europe/Vienna' })
    const untilDue = async (seconds: number) => {
      const due = Date.parse((await show()).next_due_at!)
      system.clock.advance((due - system.clock.now().getTime()) / 1000 + seconds)
    }
    expect((await owner.open(tab)).row('nightly')).toMatch(
      /^nightly \| Scheduled \| None \| 0 \* \* \* \* Europe\/Vienna \| 2 Mar 2026, \d\d:00 UTC$/,
    )
    await untilDue(2)
    await turnLoop()
    system.clock.advance(11 * MINUTE)
    await turnLoop()
    expect((await owner.open(tab)).row('nightly')).toMatch(/^nightly \| No worker \|/)
    expect((await owner.open(path)).rows[0]).toEqual([
      expect.stringMatching(/:00 UTC$/),
      'No worker',
      '',
      '–',
      'None',
    ])
    // A worker that was there shortly before, and does not take it.
    await untilDue(-20)
    await claim()
    await untilDue(2)
    await turnLoop()
    system.clock.advance(11 * MINUTE)
    await turnLoop()
    const missed = await owner.open(path)
    expect(missed.rows[0]!.slice(1, 3)).toEqual([
      'Missed',
      'A worker was connected, but none claimed it within the grace',
    ])
    expect((await owner.open(tab)).labels).toContain('Last 2 runs: 1 missed, 1 no worker')
  })
})

describe('one pipeline', () => {
  test('shows its runs newest first, filtered by state, and why they did not succeed', async () => {
    const { owner, path, work } = await scene()
    const empty = await owner.open(path)
    expect(empty.text).toContain('No runs yet')
    await work(true, undefined, 14)
    await work(false, '<b>ENOENT</b>: no such file')
    await work(false, 'x'.repeat(1_000))
    const page = await owner.open(path)
    expect(page.text).toContain('3 in total')
    expect(page.rows.map((cells) => cells.slice(1))).toEqual([
      ['Failed', expect.stringMatching(/^x{80}… Read What the worker wrote x{1000} Cancel$/), '0 s', 'web-1'],
      ['Failed', '<b>ENOENT</b>: no such file', '0 s', 'web-1'],
      ['Succeeded', '', '14 min', 'web-1'],
    ])
    expect(page.rows[0]![0]).toMatch(/ UTC manual$/)
    expect(page.html).not.toContain('<b>ENOENT')
    const failed = await page.form('Filter').with({ state: 'succeeded' }).submit()
    expect(failed.path).toBe(`${path}?state=succeeded`)
    expect(failed.rows).toHaveLength(1)
    expect(failed.form('Filter').value('state')).toBe('succeeded')
    const none = await page.form('Filter').with({ state: 'missed' }).submit()
    expect(none.text).toContain('No matching runs')
    expect(none.link('Show all runs')).toBe(path)
  })

  test('what a worker wrote is shown to whoever may read the logs', async () => {
    const { viewer, path, work } = await scene()
    await work(false, 'password is hunter2')
    expect((await viewer.open(path)).rows[0]!.slice(1, 3)).toEqual([
      'Failed',
      'The worker reported a failure',
    ])
  })

  test('is started, and a second run is refused while the first is not done', async () => {
    const { owner, path } = await scene({ concurrency: 'skip' })
    const started = await (await owner.open(path)).form('Run now').submit()
    expect(started.path).toBe(path)
    expect(started.notices).toEqual(['Run queued for a worker.'])
    expect(started.rows[0]!.slice(1)).toEqual(['Queued', '', '–', 'None'])
    const refused = await started.form('Run now').submit()
    expect(refused.path).toBe(path)
    expect(refused.notices[0]).toContain('The run before is not done. Wait for it')
    expect(refused.rows).toHaveLength(1)
  })

  test('is changed by the form that shows what it is', async () => {
    const { owner, path, show } = await scene({ cron: '0 3 * * *', timezone: 'Europe/Vienna' })
    const edit = await owner.open((await owner.open(path)).link('Edit'))
    const form = edit.form('Save changes')
    expect(form.values()).toEqual({
      cron: '0 3 * * *',
      timezone: 'Europe/Vienna',
      grace_minutes: '10',
      timeout_minutes: '60',
      concurrency: 'allow',
      enabled: true,
    })
    expect(edit.link('Cancel')).toBe(path)
    const changes = {
      timezone: 'Europe/Berlin',
      grace_minutes: '5',
      timeout_minutes: '90',
      concurrency: 'queue',
    }
    const saved = await form.with({ ...changes, cron: '30 4 * * *', enabled: false }).submit()
    expect([saved.path, saved.notices]).toEqual([path, ['Changes saved.']])
    expect(await show()).toMatchObject({
      cron: '30 4 * * *',
      timezone: 'Europe/Berlin',
      grace_minutes: 5,
      timeout_minutes: 90,
      concurrency: 'queue',
      enabled: false,
    })
    expect(saved.text).toContain('Off')
    expect(saved.pairs).toEqual({
      Schedule: '30 4 * * * Europe/Berlin',
      'Next due': 'Not scheduled',
      Grace: '5 minutes',
      'Time-out': '90 minutes',
      'If the previous run is still running': 'The new run waits for it',
    })
    const again = (await owner.open(`${path}/edit`)).form('Save changes')
    expect(again.value('enabled')).toBe('')
    await again.with({ cron: ' ', enabled: true }).submit()
    expect(await show()).toMatchObject({ cron: null, enabled: true })
  })

  test('keeps what was typed when a change is refused', async () => {
    const { owner, path, show } = await scene()
    const form = (await owner.open(`${path}/edit`)).form('Save changes')
    const refused = await form
      .with({ cron: '61 * * * *', grace_minutes: '0', timezone: 'Mars' })
      .submitUnchecked()
    expect(refused.status).toBe(400)
    expect(refused.title).toBe('Edit nightly')
    expect(Object.keys(refused.problems)).toEqual(['timezone', 'grace_minutes'])
    const kept = refused.form('Save changes')
    expect([kept.value('cron'), kept.value('grace_minutes'), kept.value('timezone')]).toEqual([
      '61 * * * *',
      '0',
      'Mars',
    ])
    const second = await kept.with({ grace_minutes: '1', timezone: 'UTC' }).submit()
    expect(Object.keys(second.problems)).toEqual(['cron'])
    expect((await show()).cron).toBeNull()
  })

  test('is removed after a question; what is gone is not found, and removing it again says so', async () => {
    const { owner, path, tab } = await scene()
    const page = await owner.open(path)
    const remove = page.form('Remove pipeline')
    expect(remove.words).toContain('A worker that is running it is not stopped')
    const removed = await remove.submit()
    expect([removed.path, removed.notices]).toEqual([tab, ['Pipeline removed.']])
    expect(removed.text).toContain('No pipelines yet')
    expect((await owner.open(path)).status).toBe(404)
    const again = await remove.submit()
    expect([again.path, again.notices]).toEqual([tab, ['Not found']])
  })

  test('nobody without a part in the app is offered to change it', async () => {
    const { viewer, path } = await scene()
    const page = await viewer.open(path)
    expect(page.title).toBe('nightly')
    expect(page.text).not.toContain('svc apps')
    for (const label of ['Run now', 'Edit', 'Remove', 'Remove pipeline'])
      expect(page.offers(label)).toBe(false)
  })
})

describe('a new one', () => {
  test('begins with what is usual, is made, and leads to its page', async () => {
    const { owner, app, call, alias } = await makeShop(system)
    const form = (await owner.open(`${app}/pipelines/new`)).form('Create pipeline')
    expect(form.values()).toEqual({
      name: '',
      cron: '0 3 * * *',
      timezone: 'UTC',
      grace_minutes: '10',
      timeout_minutes: '60',
      concurrency: 'skip',
      enabled: true,
    })
    const settings = { cron: '15 2 * * 1', timezone: 'Europe/Berlin', timeout_minutes: '90' }
    const made = await form.with({ name: 'import', ...settings }).submit()
    expect(made.notices).toEqual(['Pipeline created.'])
    expect(made.title).toBe('import')
    const pipeline_id = made.path.split('/').at(-1)!
    expect(await call(showPipeline, { alias, pipeline_id })).toMatchObject({
      ...settings,
      timeout_minutes: 90,
      grace_minutes: 10,
      concurrency: 'skip',
      enabled: true,
    })
  })

  test('says each problem beside its field, and keeps what was typed', async () => {
    const { owner, app, tab, alias, call } = await scene()
    const form = (await owner.open(`${app}/pipelines/new`)).form('Create pipeline')
    expect(form.with({ name: 'x'.repeat(61) }).submit).toThrow('60 characters')
    expect(form.submit).toThrow('asks for name')
    const wrong = { name: 'Not Kebab', grace_minutes: '1.5', timeout_minutes: '0' }
    const refused = await form.with({ ...wrong, concurrency: 'queue', enabled: false }).submitUnchecked()
    expect(refused.status).toBe(400)
    expect(Object.keys(refused.problems)).toEqual(['name', 'grace_minutes', 'timeout_minutes'])
    const kept = refused.form('Create pipeline')
    expect(kept.values()).toMatchObject({ ...wrong, concurrency: 'queue', enabled: false })
    const fixed = { name: 'import', grace_minutes: '2', timeout_minutes: '1' }
    const unscheduled = await kept.with({ ...fixed, cron: '0 0 31 2 *' }).submit()
    expect(unscheduled.status).toBe(400)
    expect(unscheduled.problems).toEqual({ cron: 'never comes due' })
    expect(unscheduled.form('Create pipeline').value('cron')).toBe('0 0 31 2 *')
    const taken = await unscheduled.form('Create pipeline').with({ cron: '', name: 'nightly' }).submit()
    expect(taken.status).toBe(409)
    expect(taken.notices[0]).toContain('already')
    const made = await taken.form('Create pipeline').with({ name: 'import' }).submit()
    expect(made.path).toMatch(new RegExp(`^${tab}/ppl_`))
    const pipeline_id = made.path.split('/').at(-1)!
    expect(await call(showPipeline, { alias, pipeline_id })).toMatchObject({ cron: null, enabled: false })
  })
})
