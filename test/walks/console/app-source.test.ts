/** The pages of what an app is and does: its source, its deployments and its logs. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { deployments } from '../../../db/schema.ts'
import { eq } from '../../../db/drizzle.ts'
import { createAppToken } from '../../../src/contracts/app-tokens.ts'
import { setAppMember } from '../../../src/contracts/apps.ts'
import {
  claimDeployment,
  createDeployment,
  finishDeployment,
  reportDeploymentOutput,
  showDeployment,
} from '../../../src/contracts/deployments.ts'
import { pushLogs } from '../../../src/contracts/logs.ts'
import { listRevisions, pushRevision } from '../../../src/contracts/revisions.ts'
import { makeShop } from '../../support/console.ts'
import { archiveOf, type Tree } from '../../support/source.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

let system: TestSystem
beforeAll(async () => void (system = await startSystem()))
afterAll(() => system.stop())

const ORDERS = 'src/orders.js'

async function scene() {
  const shop = await makeShop(system)
  const { alias, call, app } = shop
  const push = async (tree: Tree) => (await call(pushRevision, { alias, body: archiveOf(tree) })).id
  const { token } = await call(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
  const runner = system.as({ token })
  /** Queued, claimed, and ended with this code. */
  async function deploy(revision_id: string, exit_code?: number, output = 'building\n') {
    const { id } = await call(createDeployment, { alias, revision_id })
    const { fence } = await runner(claimDeployment, { alias, runner: 'web-1', wait_seconds: 0 })
    const path = { alias, deployment_id: id, fence: fence! }
    await runner(reportDeploymentOutput, { ...path, text: output, position: 0 })
    if (exit_code !== undefined) await runner(finishDeployment, { ...path, exit_code })
    return id
  }
  const show = (deployment_id: string) => call(showDeployment, { alias, deployment_id })
  return {
    ...shop,
    push,
    deploy,
    show,
    runner,
    tab: `${app}/deployments`,
    source: `${app}/source`,
    logs: `${app}/logs`,
  }
}

describe('the source', () => {
  test('is a tree of one revision, folders first, for developers and whoever works on the app', async () => {
    const { owner, viewer, source, alias, push, call } = await scene()
    expect((await owner.open(source)).text).toContain(`svc apps push ${alias}`)
    const older = await push({ 'README.md': '# Shop\n' })
    const head = await push({ 'README.md': '# Shop\n', [ORDERS]: 'a\nb\n', 'src/main.js': 'x\n' })
    const page = await owner.open(source)
    expect(page.text).toContain('Head')
    expect(page.html.indexOf('path=src"')).toBeLessThan(page.html.indexOf('path=README.md"'))
    expect(page.text).not.toContain('orders.js')
    expect((await owner.open(`${source}?path=src`)).text).toContain('orders.js')
    expect((await owner.open(`${source}?revision=${older}`)).text).toContain('Go to head')
    for (const path of [`${source}?path=nothing`, `${source}?revision=rev_${'0'.repeat(25)}`]) {
      expect((await owner.open(path)).status).toBe(404)
    }
    const revisions = await owner.open(`${source}/revisions`)
    for (const id of [older, head]) {
      expect(revisions.html).toContain(`source?revision=${id}`)
      expect(revisions.html).toContain(`diff?revision=${id}`)
    }
    const file = await owner.open(`${source}?path=${ORDERS}`)
    expect(file.html).toContain('<tr id="L2"><td class="code-number"><a href="#L2" aria-label="Line 2">2</a>')
    expect(file.text).toContain('4 B')
    const changed = await owner.open(`${source}/diff`)
    expect(changed.text).toMatch(new RegExp(`Changes in \\S*${head.slice(-6)} since \\S*${older.slice(-6)}`))
    expect(changed.html).toContain('id="file-0-line-1"')
    // An old tree that is pushed again is the head, though it is not the newest revision.
    await push({ 'README.md': '# Shop\n' })
    expect((await call(listRevisions, { alias })).revisions.find(({ is_head }) => is_head)!.id).toBe(older)
    expect((await owner.open(source)).html).toContain(`revision=${older}`)
    for (const path of [source, `${source}/revisions`, `${source}/diff`]) {
      expect((await viewer.open(path)).status).toBe(404)
    }
  })

  test.runIf(inject('everyCase'))(
    'of a file is text with lines to link to, hides nothing, comes in parts, and is cut where endless',
    async () => {
      const { owner, source, push } = await scene()
      const lines = Array.from({ length: 4_500 }, (_, at) => `line ${at + 1}`).join('\n')
      await push({
        'html.js': '<script>alert(1)</script>\n"onclick=" </td></table>&lt;\n',
        'hidden.js': 'if (isAdmin\u202e \u2066) {\u200b\u0007\ttab\u{e0041}\n',
        'long.js': lines,
        'endless.js': 'x'.repeat(100_000),
        'empty.js': '',
        'binary.bin': '\u0000\u0001\u0000',
      })
      const file = (path: string, more = '') => owner.open(`${source}?path=${path}${more}`)
      const text = await file('html.js')
      expect(text.html).toContain(
        '<tr id="L2"><td class="code-number"><a href="#L2" aria-label="Line 2">2</a>',
      )
      expect(text.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
      expect(text.html).toContain('&lt;/td&gt;&lt;/table&gt;&amp;lt;')
      expect(text.html).not.toContain('<script>alert')
      const hidden = await file('hidden.js')
      for (const code of ['202E', '2066', '200B', '0007', 'E0041'])
        expect(hidden.html).toContain(`>U+${code}</span>`)
      for (const character of ['\u202e', '\u2066', '\u200b', '\u0007'])
        expect(hidden.html).not.toContain(character)
      const long = await file('long.js')
      expect(long.text).toContain('Lines 1 to 2000 of 4500')
      expect(long.html).not.toContain('id="L2001"')
      expect((await file('long.js', '&from=4001')).html).toContain('id="L4321"')
      expect((await file('long.js', '&from=-5')).html).toContain('id="L1"')
      // An address that somebody wrote: no part begins there.
      expect((await file('long.js', '&from=1500')).html).toMatch(/#L1">Previous/)
      const endless = await file('endless.js')
      expect(endless.text).toContain('98000 more characters')
      expect(endless.html.length).toBeLessThan(40_000)
      expect((await file('empty.js')).text).toContain('has no contents')
      expect((await file('binary.bin')).text).toContain('Binary file')
    },
  )

  test.runIf(inject('everyCase'))(
    'shows what changed, as text and to an end, and compares with another revision',
    async () => {
      const { owner, source, alias, push } = await scene()
      const first = await push({ [ORDERS]: 'a\nb\n' })
      const second = await push({ [ORDERS]: 'a\n<img src=x>\n\u202eevil\n' })
      const page = await owner.open(`${source}/diff`)
      expect(page.html).toContain('class="diff-removed"')
      expect(page.html).toMatch(
        /diff-added" id="file-0-line-2"><td class="code-number"><\/td><td class="code-number"><a href="[^"]+#L2"/,
      )
      expect(page.html).toContain('&lt;img src=x&gt;')
      expect(page.text).toContain('U+202E')
      const third = await push({
        [ORDERS]: Array.from({ length: 6_000 }, (_, at) => `line ${at}`).join('\n'),
      })
      const long = await owner.open(`${source}/diff?revision=${third}`)
      expect(long.text).toContain(`svc apps diff ${alias}`)
      expect(long.text).not.toContain('line 5999')
      const picker = long.forms.find(({ fields }) => fields.some(({ name }) => name === 'base'))!
      const compared = await long.form(picker.presses[0]!.label).with({ base: first }).submit()
      expect(compared.path).toContain(`base=${first}`)
      expect((await owner.open(`${source}/diff?revision=${second}`)).text).not.toContain('line 1')
    },
  )
})

describe('deployments', () => {
  test('are listed and filtered; deploying and rolling back lead to the new one', async () => {
    const { owner, viewer, tab, alias, push, deploy, show } = await scene()
    expect((await owner.open(tab)).text).toContain(`svc apps push ${alias} --deploy`)
    const [first, second] = [await push({ 'a.js': '1\n' }), await push({ 'a.js': '2\n' })]
    await deploy(first, 0)
    const failed = await deploy(second, 1)
    await deploy(second, 0)
    const page = await owner.open(tab)
    expect(page.rows).toHaveLength(3)
    const found = await page.form('Filter').with({ state: 'failed' }).submit()
    expect(found.rows).toHaveLength(1)
    expect(found.html).toContain(`${tab}/${failed}`)
    expect((await page.form('Filter').with({ state: 'queued' }).submit()).text).toContain(
      'No matching deployments',
    )
    const form = page.form('Deploy')
    expect(form.value('revision')).toBe(second)
    const made = await form.with({ revision: first }).submit()
    expect(await show(made.path.split('/').at(-1)!)).toMatchObject({ state: 'queued', revision_id: first })
    const cancelled = await made.form('Cancel deployment').submit()
    expect(cancelled.path).toBe(made.path)
    expect((await show(made.path.split('/').at(-1)!)).state).toBe('cancelled')
    const back = await (await owner.open(tab)).form('Roll back').submit()
    expect(await show(back.path.split('/').at(-1)!)).toMatchObject({ state: 'queued', revision_id: first })
    const read = await viewer.open(tab)
    expect(read.rows).toHaveLength(5)
    for (const words of ['Roll back', 'Deploy']) expect(read.offers(words)).toBe(false)
  })

  test('one shows why it failed and its output as text, and is deployed again', async () => {
    const { owner, viewer, tab, push, deploy, show } = await scene()
    const revision = await push({ 'a.js': '1\n' })
    const path = `${tab}/${await deploy(revision, 1, '<script>alert(1)</script>\n')}`
    const page = await owner.open(path)
    expect(page.text).toContain('The deploy command ended with an error')
    expect(page.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page.html).not.toContain('data-live')
    const again = await page.form('Deploy again').submit()
    expect(await show(again.path.split('/').at(-1)!)).toMatchObject({
      revision_id: revision,
      state: 'queued',
    })
    const read = await viewer.open(path)
    expect(read.offers('Deploy again')).toBe(false)
    expect(read.text).not.toContain('alert(1)')
    expect((await owner.open(`${tab}/nothing`)).status).toBe(404)
  })

  test('one under way is followed from where the page ends, and stopped', async () => {
    const { owner, tab, push, deploy } = await scene()
    const path = `${tab}/${await deploy(await push({ 'a.js': '1\n' }))}`
    const page = await owner.open(path)
    expect(page.html).toContain(`data-live="${path}/output?after=9"`)
    const more = JSON.parse((await owner.open(`${path}/output?after=0`)).html) as object
    expect(more).toEqual({ text: 'building\n', more: `${path}/output?after=9`, ended: false })
    expect((await page.form('Cancel deployment').submit()).text).toContain('Stopping')
  })

  test('one whose runner was lost holds up the next until somebody confirms; one that broke later is reported', async () => {
    const { owner, tab, push, deploy, show } = await scene()
    const revision = await push({ 'a.js': '1\n' })
    const id = await deploy(revision, 0)
    const page = await owner.open(`${tab}/${id}`)
    await page.form('Report as broken').submit()
    expect((await show(id)).code).toBe('ROLLOUT_FAILED')
    const old = await deploy(revision, 0)
    const lost = { state: 'failed', code: 'RUNNER_LOST', releasedAt: null } as const
    await system.db.update(deployments).set(lost).where(eq(deployments.id, old))
    expect((await owner.open(tab)).text).toContain('was lost')
    const confirmed = await (await owner.open(`${tab}/${old}`)).form('It has ended').submit()
    expect(confirmed.offers('It has ended')).toBe(false)
    expect((await show(old)).blocks_next).toBe(false)
  })
})

describe('logs', () => {
  test('empty, they give the command; lines are text, filtered, in groups, and followed', async () => {
    const { owner, viewer, viewing, logs, alias, call } = await scene()
    expect((await owner.open(logs)).text).toContain(`your-program 2>&1 | svc apps logs push ${alias}`)
    expect((await viewer.open(logs)).status).toBe(404)
    const time = system.clock.now().toISOString()
    const lines = [
      { time, level: 'info', message: 'GET /orders/17 200 in 12 ms' },
      { time, level: 'info', message: '<script>alert(1)</script> is text' },
      { time, level: 'error', message: 'card declined\n    at pay (pay.ts:1:2)' },
    ]
    const push = (rows: readonly object[]) =>
      call(pushLogs, { alias, body: Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n')) })
    await push(lines)
    const page = await owner.open(logs)
    expect(page.html).toContain('<code>GET /orders/17 200 in 12 ms</code>')
    expect(page.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; is text')
    expect(page.html).not.toContain('<script>alert')
    expect(page.html).toMatch(/<code>card declined<\/code><\/summary>\s*<pre> {4}at pay \(pay\.ts:1:2\)/)
    const found = await page.form('Filter').with({ level: 'error', text: 'card', window: 'hour' }).submit()
    expect(found.text).toContain('card declined')
    expect(found.text).not.toContain('GET /orders')
    expect((await page.form('Filter').with({ text: 'nothing' }).submit()).text).toContain('No lines found')
    expect((await owner.open(`${logs}?level=loud&window=year&group=x&view=constructor`)).text).toContain(
      'GET /orders',
    )
    const incident = found.link('Incident')
    const told = await owner.open(incident)
    expect(told.title).toContain('card declined')
    for (const words of ['Over time', 'Its lines', 'First logged']) expect(told.text).toContain(words)
    expect(told.labels.join()).toMatch(/Lines of this error by \d+ hours, from .* to now: 1 line\./)
    expect(told.text).toContain('One line in 7 days')
    expect(told.html).toMatch(/<details open><summary>.*card declined.*<\/summary><pre>.*at pay/s)
    expect(told.link('All lines like this')).toContain(`${logs}?group=lgr_`)
    expect((await owner.open(told.link('Make a check of this'))).form('Create check').values()).toMatchObject(
      {
        level: 'error',
        window_minutes: '10',
      },
    )
    expect((await viewer.open(incident)).status).toBe(404)
    const groups = await owner.open(`${logs}?view=groups`)
    const group = /href="([^"]*group=lgr_\w+)"/.exec(groups.html)![1]!.replaceAll('&amp;', '&')
    expect((await owner.open(group)).status).toBe(200)
    const live = await owner.open(`${logs}?view=live&level=error`)
    const path = /data-live="([^"]+)"/.exec(live.html)![1]!.replaceAll('&amp;', '&')
    expect(path).toContain('level=error')
    await push([{ time: system.clock.now().toISOString(), level: 'error', message: '<b>now</b>' }])
    const more = JSON.parse((await owner.open(path)).html) as { text: string; more: string }
    expect(more.text).toContain('<b>now</b>\n')
    expect(more.more).toContain(`${logs}/live?`)
    await call(setAppMember, { alias, user_id: viewing.userId, role: 'builder' })
    expect((await viewer.open(logs)).text).toContain('GET /orders')
  })
})
