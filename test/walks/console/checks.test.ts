/** The pages of checks: what each shows of a check, and the forms that make, change, pause and remove it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checks } from '../../../db/schema.ts'
import { createCheck, showCheck, updateCheck } from '../../../src/contracts/checks.ts'
import { updateMaintenanceSettings } from '../../../src/contracts/maintenance.ts'
import type { Input } from '../../../src/contracts/operations.ts'
import type { HttpProbe } from '../../../src/cores/checks/index.ts'
import { dataKeys } from '../../../src/trust/data-key.ts'
import { makeShop } from '../../support/console.ts'
import { drainChecks } from '../../support/drain.ts'
import { MODEL, MODELS_SETTING } from '../../support/maintained-app.ts'
import { unique } from '../../support/make.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

type Probed = Awaited<ReturnType<HttpProbe>>
const answered = (status: number): Probed => ({
  kind: 'answered',
  status,
  timeMs: 42,
  body: '',
  isPrivate: false,
})
const RESULTS = {
  p: answered(200),
  f: answered(503),
  e: { kind: 'refused', reason: 'dns_failed' },
} as const satisfies Record<string, Probed>

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({ MAINTENANCE_MODELS: MODELS_SETTING })
  // What other files left behind would be due as well.
  await system.db.delete(checks)
})
afterAll(() => system.stop())

async function scene(settings: Partial<Input<'createCheck'>> = {}) {
  const shop = await makeShop(system)
  const { alias, app, call } = shop
  const url = `https://${unique('host')}.test/health?key=secret`
  const definition = { kind: 'http', url, headers: { Authorization: 'Bearer abc' } } as const
  const { id } = await call(createCheck, { alias, name: 'Health', definition, ...settings })
  const key = { alias, check_id: id }
  return {
    ...shop,
    key,
    url,
    tab: `${app}/checks`,
    path: `${app}/checks/${id}`,
    show: () => call(showCheck, key),
    /** Runs it once for each initial. */
    play: async (results: string): Promise<void> => {
      for (const initial of results) {
        await drainChecks({
          db: system.db,
          clock: () => system.clock.now(),
          log: { warn: (event: string) => expect.unreachable(event) },
          dataKeys: dataKeys(system.system.config.DATA_KEY!),
          judge: null,
          probeHttp: async () => RESULTS[initial as keyof typeof RESULTS],
          matchLines: async () => 0,
        })
        system.clock.advance(70)
      }
    },
  }
}

const useModel = ({ org, call }: Awaited<ReturnType<typeof makeShop>>, model: string, enabled = true) =>
  call(updateMaintenanceSettings, { org_id: org.id, enabled, model })

describe('the tab', () => {
  test('empty, it gives the command and the link to those who may, and nothing to others', async () => {
    const { app, alias, owner, viewer } = await makeShop(system)
    const page = await owner.open(`${app}/checks`)
    expect(page.text).toContain(`svc apps checks add ${alias} Health --url`)
    expect(page.link('Create a check')).toBe(`${app}/checks/new`)
    expect(page.link('New check')).toBe(`${app}/checks/new?kind=http`)
    const read = await viewer.open(`${app}/checks`)
    expect(read.text).toContain('No checks yet')
    for (const words of ['New check', 'Create a check']) expect(read.offers(words)).toBe(false)
    expect(read.text).not.toContain('svc apps')
  })

  test('lists each check with its state and the strip of its last results', async () => {
    const { owner, viewer, tab, path, play } = await scene({ failure_threshold: 1 })
    expect((await owner.open(tab)).row('Health')).toMatch(
      /^Health \| Not run yet \| None \| GET https:.*\| Never$/,
    )
    await play('ppef')
    const page = await owner.open(tab)
    expect(page.link('Health')).toBe(path)
    expect(page.labels).toContain('Last 4 results: 2 passed, 1 failed, 1 could not run')
    expect(page.row('Health')).toMatch(
      /^Health \| Failing \|.*\| GET https:\/\/host-\w+\.test\/health.* \| 2 Mar/,
    )
    // What follows the question mark may be a secret.
    expect(page.html).toContain('key=secret')
    expect((await viewer.open(tab)).html).not.toContain('key=secret')
    expect(page.text).toContain('1 in total')
  })
})

describe('the editor', () => {
  const HTTP = {
    name: 'Shop front',
    url: 'https://shop.test/health',
    method: 'POST',
    timeout_ms: '5000',
    conditions: '[STATUS] == 200\n\n  [BODY].status == UP',
    headers: 'Authorization: Bearer abc:def\nAccept: text/plain',
    body: '{"a": 1}',
    interval_seconds: '300',
    failure_threshold: '2',
    success_threshold: '4',
  }

  test('makes a check of lines and numbers, leads to it, and does not show its secrets again', async () => {
    const { app, owner, call, alias } = await makeShop(system)
    const form = (await owner.open(`${app}/checks/new`)).form('Create check')
    expect(form.values()).toMatchObject({
      method: 'GET',
      timeout_ms: '10000',
      conditions: '[STATUS] < 400',
      interval_seconds: '60',
      failure_threshold: '3',
      success_threshold: '1',
    })
    const made = await form.with(HTTP).submit()
    expect([made.title, made.notices]).toEqual(['Shop front', ['Check created. Its first run starts now.']])
    const check_id = made.path.split('/').at(-1)!
    expect(await call(showCheck, { alias, check_id })).toMatchObject({
      name: 'Shop front',
      interval_seconds: 300,
      failure_threshold: 2,
      success_threshold: 4,
      definition: {
        kind: 'http',
        url: 'https://shop.test/health',
        method: 'POST',
        timeout_ms: 5000,
        conditions: ['[STATUS] == 200', '[BODY].status == UP'],
        headers: { Authorization: '[hidden]', Accept: '[hidden]' },
        body: '[hidden]',
      },
    })
    expect(made.pairs).toMatchObject({
      Target: 'POST https://shop.test/health',
      Conditions: '[STATUS] == 200 [BODY].status == UP',
      Interval: '300 s',
      Notifications: 'After 2 failures without a pass between, and 4 passes in a row',
    })
    const edit = (await owner.open(made.link('Edit'))).form('Save')
    expect(edit.values()).toEqual({
      ...HTTP,
      conditions: '[STATUS] == 200\n[BODY].status == UP',
      headers: 'Accept: [hidden]\nAuthorization: [hidden]',
      body: '[hidden]',
    })
    const saved = await edit.with({ name: 'Renamed' }).submit()
    expect([saved.title, saved.path, saved.notices]).toEqual(['Renamed', made.path, ['Check saved.']])
    const taken = (await owner.open(`${app}/checks/new`)).form('Create check')
    const refused = await taken.with({ name: 'Renamed', url: HTTP.url }).submit()
    expect(refused.status).toBe(409)
    expect(refused.notices[0]).toBe('The app already has a check with this name')
    expect(refused.form('Create check').value('name')).toBe('Renamed')
  })

  test('an edit keeps the headers that are hidden, and changes those that are written anew', async () => {
    const { owner, path } = await scene()
    const form = (await owner.open(`${path}/edit`)).form('Save')
    const headers = 'Authorization: [hidden]\nX-Other: new'
    expect((await form.with({ headers }).submit()).path).toBe(path)
    const edit = (await owner.open(`${path}/edit`)).form('Save')
    expect(edit.value('headers').split('\n').toSorted()).toEqual([
      'Authorization: [hidden]',
      'X-Other: [hidden]',
    ])
  })

  test('has a form for log lines', async () => {
    const { app, owner, call, alias } = await makeShop(system)
    const page = await owner.open((await owner.open(`${app}/checks/new`)).link('Log lines'))
    const fields = { pattern: '/panic/', level: 'warn', window_minutes: '5', max_count: '2' }
    const made = await page
      .form('Create check')
      .with({ name: 'Panics', ...fields })
      .submit()
    expect(made.pairs['Target']).toBe('more than 2 × /panic/ in 5 min')
    const shown = await call(showCheck, { alias, check_id: made.path.split('/').at(-1)! })
    const definition = { kind: 'logs', pattern: '/panic/', level: 'warn', window_minutes: 5, max_count: 2 }
    expect(shown.definition).toEqual(definition)
    expect((await owner.open(`${made.path}/edit`)).form('Save').values()).toMatchObject(fields)
  })

  test('asks a question only of a language model that is on', async () => {
    const shop = await makeShop(system)
    const { app, owner, alias, call } = shop
    const offers = async () => {
      const page = await owner.open(`${app}/checks/new?kind=judge`)
      return page.offers('A question about the logs') && page.form('Create check').has('question')
    }
    expect(await offers()).toBe(false)
    await useModel(shop, 'rules')
    expect(await offers()).toBe(false)
    await useModel(shop, MODEL)
    expect(await offers()).toBe(true)
    const form = (await owner.open(`${app}/checks/new?kind=judge`)).form('Create check')
    const made = await form.with({ name: 'Asked', question: 'Is all well?' }).submit()
    expect(made.pairs['Target']).toBe('Is all well?')
    await useModel(shop, MODEL, false)
    expect(await offers()).toBe(false)
    // The page that offered it is still open somewhere.
    expect((await form.with({ name: 'Late', question: 'Is all well?' }).submit()).status).toBe(400)
    const paused = await owner.open(made.path)
    expect(paused.text).toContain('No model')
    expect(paused.html).toContain('title="The organization has no maintenance model, or has turned it off"')
    expect(paused.offers('Run now')).toBe(false)
    const edit = (await owner.open(`${made.path}/edit`)).form('Save')
    await edit.with({ question: 'Is it quiet?', max_tokens: '6000' }).submit()
    const { definition } = await call(showCheck, { alias, check_id: made.path.split('/').at(-1)! })
    expect(definition).toMatchObject({ kind: 'judge', question: 'Is it quiet?', max_tokens: 6000 })
  })

  test('says every problem beside its field, and keeps what was typed', async () => {
    const { app, owner } = await makeShop(system)
    const form = (await owner.open(`${app}/checks/new`)).form('Create check')
    const wrong = {
      url: 'ftp://kept.example',
      conditions: 'nonsense',
      timeout_ms: 'soon',
      interval_seconds: '1',
      name: '<b>kept</b>',
    }
    expect(form.with(wrong).submit).toThrow('timeout_ms takes numbers only')
    const refused = await form.with(wrong).submitUnchecked()
    expect(refused.status).toBe(400)
    expect(Object.keys(refused.problems).toSorted()).toEqual([
      'conditions',
      'interval_seconds',
      'timeout_ms',
      'url',
    ])
    expect(refused.form('Create check').values()).toMatchObject(wrong)
    expect(refused.html).not.toContain('<b>kept</b>')
  })
})

describe('one check', () => {
  test('shows its status, and its runs by result', async () => {
    const { owner, viewer, path, tab, play } = await scene({ failure_threshold: 1 })
    expect((await owner.open(path)).text).toContain('No runs yet')
    await play('pfe')
    const page = await owner.open(path)
    expect(page.rows.map((cells) => cells.slice(1))).toEqual([
      ['Error', 'The name could not be looked up', '', ''],
      ['Failing', 'A condition does not hold [STATUS] < 400', '503', '42 ms'],
      ['Passing', '', '200', '42 ms'],
    ])
    expect(page.pairs).toMatchObject({
      Conditions: '[STATUS] < 400',
      Notifications: 'After 1 failure without a pass between, and the first pass',
      'Last run': expect.stringContaining('2 Mar 2026') as string,
    })
    const failed = await page.form('Filter').with({ result: 'fail' }).submit()
    expect(failed.rows.map((cells) => cells[1])).toEqual(['Failing'])
    expect(failed.text).toContain('1 in total')
    const none = await page.form('Filter').with({ result: 'indeterminate' }).submit()
    expect(none.text).toContain('No matching runs')
    expect((await owner.open(`${tab}/chk_${'1'.repeat(25)}`)).status).toBe(404)
    const read = await viewer.open(path)
    expect(read.rows).toEqual(page.rows)
    const offered = ['Run now', 'Edit', 'Turn off', 'Remove', 'Add window']
    expect(offered.filter((words) => read.offers(words))).toEqual([])
    expect(offered.filter((words) => page.offers(words))).toEqual(offered)
  })

  test('runs now, is turned off and on, and is removed', async () => {
    const { owner, path, tab, play, show } = await scene({ interval_seconds: 3600 })
    await play('p')
    const due = Date.parse((await show()).next_run_at!)
    const asked = await (await owner.open(path)).form('Run now').submit()
    expect(asked.notices[0]).toContain('Run requested.')
    expect(Date.parse((await show()).next_run_at!)).toBeLessThan(due)
    const off = await asked.form('Turn off').submit()
    expect(off.notices).toEqual(['Turned off.'])
    expect((await show()).enabled).toBe(false)
    expect(off.offers('Run now')).toBe(false)
    expect((await owner.open(tab)).row('Health')).toContain('Turned off')
    const on = await off.form('Turn on').submit()
    expect(on.notices).toEqual(['Turned on.'])
    expect((await show()).enabled).toBe(true)
    const gone = await on.form('Remove', 'Its history is removed with it.').submit()
    expect([gone.path, gone.notices]).toEqual([tab, ['Check removed.']])
    expect((await owner.open(path)).status).toBe(404)
  })

  test('has maintenance windows that are added and removed', async () => {
    const { owner, path, key, call, show } = await scene()
    const add = { from: '2026-12-01T22:00', until: '2026-12-01T23:00' }
    const added = await (await owner.open(path)).form('Add window').with(add).submit()
    expect(added.notices).toEqual(['Window added.'])
    expect(added.text).toContain('1 Dec 2026, 22:00 UTC – 1 Dec 2026, 23:00 UTC')
    const window = { from: '2026-12-01T22:00:00.000Z', until: '2026-12-01T23:00:00.000Z' }
    expect((await show()).maintenance_windows).toEqual([window])
    const backwards = { from: '2026-12-02T23:00', until: '2026-12-02T22:00' }
    const refused = await added.form('Add window').with(backwards).submit()
    expect(refused.notices[0]).toContain('must end after it begins')
    expect((await show()).maintenance_windows).toEqual([window])
    // Another person adds one between this page and its form: neither is lost.
    const other = { from: '2026-12-03T22:00:00.000Z', until: '2026-12-03T23:00:00.000Z' }
    await call(updateCheck, { ...key, add_maintenance_window: other })
    const removed = await refused.form(`Remove the window from ${window.from}`).submit()
    expect(removed.notices).toEqual(['Window removed.'])
    expect((await show()).maintenance_windows).toEqual([other])
  })
})
