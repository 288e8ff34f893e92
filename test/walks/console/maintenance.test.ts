/** The pages of the maintenance agent: turning it on, its runs and findings, and deciding on what it proposes. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { maintenanceRuns, proposals } from '../../../db/schema.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { createAppToken } from '../../../src/contracts/app-tokens.ts'
import { cancelDeployment, claimDeployment, showDeployment } from '../../../src/contracts/deployments.ts'
import { pushLogs } from '../../../src/contracts/logs.ts'
import {
  listFindings,
  listMaintenanceRuns,
  showMaintenanceSettings,
} from '../../../src/contracts/maintenance.ts'
import { outcomeOf, TERMINAL_CODES } from '../../../src/contracts/outcomes.ts'
import { showProposal } from '../../../src/contracts/proposals.ts'
import { pushRevision } from '../../../src/contracts/revisions.ts'
import type { RemoteCheck } from '../../../src/cores/remotes/git-host-port.ts'
import { fakeGitHosts } from '../../support/fake-integrations.ts'
import { openConsole } from '../../support/console.ts'
import {
  AGENT_RUNNER_SECRET,
  makeMaintainedApp,
  MODEL,
  MODELS_SETTING,
  runScript,
  turnOf,
} from '../../support/maintained-app.ts'
import { endEverything } from '../../support/maintenance.ts'
import { makeMember } from '../../support/make.ts'
import { archiveOf } from '../../support/source.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

let system: TestSystem
let checked: RemoteCheck = { kind: 'fits', excess: [], isPublic: false }
beforeAll(async () => {
  system = await startSystem(
    { AGENT_RUNNER_SECRET, MAINTENANCE_MODELS: MODELS_SETTING },
    { gitHosts: { ...fakeGitHosts, check: async () => checked } },
  )
})
afterAll(() => system.stop())
beforeEach(() => endEverything(system))

const REF = 'file:src/orders.js#L1-L3'
const HOSTILE = 'x\u115f\u202e<script>alert(1)</script>'

async function scene() {
  const made = await makeMaintainedApp(system)
  const { org, alias } = made
  const admin = await makeMember(system, org, 'admin')
  const viewer = await makeMember(system, org, 'viewer')
  const app = `/console/apps/${alias}`
  return {
    ...made,
    app,
    tab: `${app}/maintenance`,
    person: admin,
    owner: await openConsole(system, org.owner),
    admin: await openConsole(system, admin),
    viewer: await openConsole(system, viewer),
  }
}

/** A run that the owner starts, that reads, finds and proposes. */
async function proposed(shop: Awaited<ReturnType<typeof scene>>) {
  const executionId = await shop.start()
  await runScript(system, (_request, asked) => {
    if (asked === 0)
      return turnOf([
        ['log_groups', {}],
        ['read_file', { path: 'src/orders.js' }],
      ])
    if (asked > 1) return turnOf('Done.')
    const edits = [
      {
        path: 'src/orders.js',
        old_text: 'order.items.length * order.price',
        new_text: 'order.items.length * order.cost // \u200b',
      },
    ]
    return turnOf([
      [
        'propose_change',
        { title: 'Add up prices', rationale: 'Prices are added up.', evidence: [REF], edits },
      ],
    ])
  })
  const { runs } = await shop.call(listMaintenanceRuns, { alias: shop.alias })
  const [row] = await system.db.select().from(proposals).where(eq(proposals.executionId, executionId))
  expect(runs[0]).toMatchObject({ execution_id: executionId, terminal_code: 'proposed' })
  const id = row!.id
  return {
    id,
    executionId,
    path: `${shop.app}/proposals/${id}`,
    run: `${shop.tab}/runs/${executionId}`,
    show: () => shop.call(showProposal, { alias: shop.alias, proposal_id: id }),
  }
}

describe('the git remote', () => {
  test('is set on a page, says what its token has too much, and is removed there', async () => {
    const shop = await scene()
    const page = `${shop.app}/remote`
    expect((await shop.viewer.open(page)).text).toContain('No git remote')
    expect((await shop.viewer.open(page)).html).not.toContain('Save remote')
    const fill = async (url: string) =>
      (await shop.admin.open((await shop.admin.open(shop.tab)).link('git remote')))
        .form('Save remote')
        .with({ host: 'gitea', url, token: 'secret-of-the-host' })
        .submit()
    const refused = await fill('git@git.test:acme/shop')
    expect(refused.text).toContain('must be the address of a repository')
    expect(refused.html).not.toContain('secret-of-the-host')
    checked = { kind: 'missing', rights: ['repository_scope'] }
    expect((await fill('https://git.test/acme/shop')).text).toContain('lacks the scope write:repository')
    checked = { kind: 'fits', excess: ['user_scope'], isPublic: true }
    const saved = await fill('https://git.test/acme/shop.git')
    expect(saved.text).toContain('Remote saved.')
    expect(saved.text).toContain('scopes of the user’s account')
    expect(saved.text).toContain('Others than its members may read this repository')
    expect(saved.html).toContain('href="https://git.test/acme/shop"')
    expect(saved.html).not.toContain('secret-of-the-host')
    const made = await saved.form('Make secret').submit()
    expect(made.text).toContain('Store the secret now')
    expect((await shop.admin.open(page)).text).not.toContain('Store the secret now')
    const { path } = await proposed(shop)
    await (await shop.admin.open(path)).form('Approve').submit()
    expect((await shop.admin.open(path)).text).toContain('The pull request is being opened')
    await (await shop.admin.open(page)).form('Remove remote').submit()
    expect((await shop.viewer.open(page)).text).toContain('No git remote')
    expect((await shop.admin.open(path)).text).toContain('REMOTE_REMOVED')
  })
})

describe('an incident', () => {
  test.runIf(inject('everyCase'))(
    'leads from a line of the log to its check, and hides what is not for the reader',
    async () => {
      const shop = await scene()
      const body = Buffer.from(JSON.stringify({ level: 'error', message: `order 12 <b>\u202e failed` }))
      await shop.call(pushLogs, { alias: shop.alias, body })
      const incident = (await shop.admin.open(`${shop.app}/logs?level=error`)).link('Incident')
      const page = await shop.admin.open(incident)
      expect(page.title).toContain('order 12')
      for (const words of ['Over time', 'Its lines', 'First logged', 'Ask the agent to look'])
        expect(page.text).toContain(words)
      expect(page.html).not.toMatch(/<b>|\u202e/)
      const editor = await shop.admin.open(page.link('Make a check of this'))
      expect(editor.form('Create check').values()).toMatchObject({
        name: 'order … <b> failed',
        pattern: '/order\\s+.+\\s+<b>\\s+failed/',
        level: 'error',
        window_minutes: '10',
      })
      const made = await editor.form('Create check').submit()
      expect(made.text).toContain('Check created.')
      const covered = await shop.admin.open(incident)
      expect(covered.offers('Make a check of this')).toBe(false)
      expect(covered.text).toContain('order … <b> failed')
      expect((await shop.admin.open(made.path.replace('/checks/', '/incidents/'))).path).toBe(incident)
      const asked = await covered.form('Ask the agent to look').submit()
      expect(asked.text).toContain('looks at the app now')
      expect(asked.offers('Ask the agent to look')).toBe(false)
      // The log is not for a viewer: the page is as one that was never there.
      const unknown = await shop.viewer.open(incident.replace(/.$/, (last) => (last === '0' ? '1' : '0')))
      const hidden = await shop.viewer.open(incident)
      const saysOf = ({ text }: typeof hidden) => text.replace(/req_\w+/, '')
      expect([hidden.status, saysOf(hidden)]).toEqual([404, saysOf(unknown)])
      expect((await shop.owner.open(`${shop.app}/incidents/nothing`)).status).toBe(404)
    },
  )

  test('of a finding offers its fix, names what is deployed where, and tells who did what', async () => {
    const shop = await scene()
    const { id, path } = await proposed(shop)
    const { findings } = await shop.call(listFindings, { alias: shop.alias })
    const finding = await shop.admin.open(`${shop.tab}/findings/${findings[0]!.id}`)
    const page = await shop.admin.open(finding.link('Incident'))
    expect(page.html).toMatch(/<ins>.*<\/ins>/)
    expect(page.text).toContain(`Approve and deploy to`)
    expect(page.text).toContain('1 file, 1 line added, 1 removed')
    const viewed = await shop.viewer.open(page.path)
    expect(viewed.offers('Approve')).toBe(false)
    expect(viewed.html).not.toMatch(/order\.items/)
    expect(viewed.text).toContain('For people who may read the source and logs')
    expect((await shop.owner.open(page.path)).offers('Approve')).toBe(false)
    const approved = await page.form('Approve and deploy').submit()
    expect(approved.path).toBe(page.path)
    expect(approved.text).toContain('The fix was approved')
    expect(approved.text).toContain(shop.person.name)
    expect((await shop.admin.open(path)).text).toContain('Approved by')
    expect(approved.offers('Approve')).toBe(false)
    expect(id).toMatch(/^pr_/)
  })
})

describe('a proposal', () => {
  test('shows its diff with nothing invisible, what to look at, and what a model wrote as text', async () => {
    const shop = await scene()
    const { path, id, run } = await proposed(shop)
    const isIt = and(eq(proposals.orgId, shop.org.id), eq(proposals.id, id))
    await system.db.update(proposals).set({ title: 'Add\u202eup', rationale: HOSTILE }).where(isIt)
    const page = await shop.admin.open(path)
    expect(page.title).toBe('AddU+202Eup')
    expect(page.html).toContain('>U+200B</span>')
    for (const hidden of ['\u200b', '\u115f', '\u202e']) expect(page.html).not.toContain(hidden)
    expect(page.html).toContain('>U+202E</span>')
    expect(page.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page.html).not.toContain('<script>alert')
    expect(page.html).toMatch(/href="#file-0-line-\d+"/)
    expect(page.html).toContain('class="code-lines code-wrapped"')
    expect(page.html).toMatch(/<del>.*<\/del>/)
    expect(page.html).toMatch(/<ins>.*<\/ins>/)
    expect(page.text).toContain('The exact lines that the run read.')
    expect(page.html).toContain(`${run}/evidence?ref=file%3Asrc%2Forders.js%23L1-L3`)
    const patch = await shop.admin.open(page.link('Download .patch'))
    expect(patch.headers.get('content-type')).toContain('text/x-patch')
    expect(patch.headers.get('content-disposition')).toBe(`attachment; filename="${shop.alias}-${id}.patch"`)
    expect(patch.html).toContain('diff --git')
    expect((await shop.admin.open(`${shop.app}/proposals/nothing`)).status).toBe(404)
    // Codes and counts for those who may not read source.
    const hidden = await shop.viewer.open(path)
    expect(hidden.title).toBe(`Proposal ${id.slice(-6)}`)
    expect(hidden.text).toContain('1 file, 1 line added, 1 removed')
    expect(hidden.text).toContain('For people who may read the source and logs')
    expect(hidden.offers('Download .patch')).toBe(false)
    expect(hidden.html).not.toMatch(/order\.items|\/source\?/)
  })

  test('is not approved by whoever started the run, and is by somebody else; the page names them', async () => {
    const shop = await scene()
    const { path, show } = await proposed(shop)
    const own = await shop.owner.open(path)
    expect(own.offers('Approve')).toBe(false)
    expect(own.text).toContain('REQUESTER')
    expect(own.text).toMatch(/approve : Whoever started the run/)
    // In the queue of all apps, and the next one of whoever may approve it.
    const queue = await shop.admin.open('/console/proposals')
    expect(queue.link('Add up prices')).toBe(path)
    expect(queue.row('Add up prices')).toContain('You may approve it')
    const denied = await queue.form('Filter').with({ state: 'denied' }).submit()
    expect(denied.text).toContain('No matching proposals')
    const owners = await shop.owner.open('/console/proposals')
    expect(owners.row('Add up prices')).not.toContain('You may approve it')
    expect((await shop.admin.open('/console/proposals/next')).path).toBe(path)
    expect((await shop.owner.open('/console/proposals/next')).path).toBe('/console/proposals')
    expect((await shop.admin.open('/console')).text).toContain('1 proposal to review')
    expect((await shop.admin.open('/console/search?q=add+up')).html).toContain(path)
    const page = await shop.admin.open(path)
    const form = page.form('Approve')
    // It asks, and names what is deployed and where.
    expect(form.words).toMatch(/Revision rev_….{6} \(1 file, \+1 −1\) becomes the head of .+ and is deployed/)
    expect(form.words).toContain('none has deployed it so far')
    const done = await form.submit()
    expect([done.path, done.notices]).toEqual([path, ['Approved. It is deployed by the next runner.']])
    expect(done.text).toContain(`Approved by ${shop.person.name} in the console`)
    expect(done.offers('Approve')).toBe(false)
    expect(done.text).toContain('ALREADY_DECIDED')
    expect((await show()).decided).toMatchObject({ approved: true, by: shop.person.name, via: 'console' })
    expect((await form.submit()).notices).not.toEqual(done.notices)
    // Until a runner takes it, it can be canceled; the approval stands.
    expect((await shop.viewer.open(path)).offers('Cancel deployment')).toBe(false)
    const canceled = await done.form('Cancel deployment').submit()
    expect(canceled.notices).toEqual(['Canceled. The approval stands.'])
    expect(canceled.offers('Cancel deployment')).toBe(false)
    expect(await show()).toMatchObject({ state: 'failed', decided: { approved: true } })
    expect((await canceled.form('Retry').submit()).notices).toEqual(['On its way again.'])
  })

  test.runIf(inject('everyCase'))(
    'has its evidence beside the lines that it explains, and Markdown that is safe',
    async () => {
      const shop = await scene()
      const { path, id } = await proposed(shop)
      const isIt = and(eq(proposals.orgId, shop.org.id), eq(proposals.id, id))
      const rationale =
        '**Because** of [the docs](https://docs.example/a)\n\n- <img src=x>\n- [no](javascript:x)'
      await system.db.update(proposals).set({ rationale }).where(isIt)
      const page = await shop.admin.open(path)
      expect(page.html).toMatch(
        /<div class="hunk hunk-explained"[^]*<div class="hunk-evidence">[^]*orders\.js%23L1-L3/,
      )
      expect(page.text).not.toContain('Further evidence')
      expect(page.html).toContain('<strong>Because</strong>')
      expect(page.html).toContain(
        '<a href="https://docs.example/a" rel="noopener nofollow">the docs</a> <span class="note">(docs.example)</span>',
      )
      expect(page.html).toContain('<li>&lt;img src=x&gt;</li><li>[no](javascript:x)</li>')
      // The keys are shown by the script, with what this reader may do.
      expect(page.html).toMatch(/<kbd>a<\/kbd>[^]*<kbd>d<\/kbd>/)
      const hidden = await shop.viewer.open(path)
      expect(hidden.html).not.toContain('data-keys')
      expect((await shop.owner.open(path)).html).not.toContain('<kbd>a</kbd>')
    },
  )

  test.runIf(inject('everyCase'))(
    'that was approved can be canceled until a runner takes it, and the approval stands',
    async () => {
      const shop = await scene()
      const { path, show } = await proposed(shop)
      const approved = await (await shop.admin.open(path)).form('Approve').submit()
      expect((await shop.viewer.open(path)).offers('Cancel deployment')).toBe(false)
      const late = approved.form('Cancel deployment')
      const canceled = await late.submit()
      expect(canceled.notices).toEqual(['Canceled. The approval stands.'])
      expect(canceled.offers('Cancel deployment')).toBe(false)
      expect(await show()).toMatchObject({
        state: 'failed',
        decided: { approved: true, by: shop.person.name },
      })
      const again = await canceled.form('Retry').submit()
      expect(again.notices).toEqual(['On its way again.'])
      const { token } = await shop.call(createAppToken, {
        alias: shop.alias,
        name: 'runner',
        scope: 'apps:run',
      })
      const runner = system.as({ token })
      const { deployment } = await runner(claimDeployment, { alias: shop.alias, runner: 'prod-1' })
      expect((await shop.admin.open(path)).offers('Cancel deployment')).toBe(false)
      // The page was open before: a deployment that runs is not stopped half done.
      const refused = await again.form('Cancel deployment').submit()
      expect(refused.notices[0]).toContain('A runner has taken this deployment')
      const key = { alias: shop.alias, deployment_id: deployment!.id }
      expect(await shop.call(showDeployment, key)).toMatchObject({
        state: 'running',
        cancel_requested: false,
      })
      // Without the condition its runner is asked to stop, as before.
      expect(await shop.call(cancelDeployment, key)).toMatchObject({ cancel_requested: true })
    },
  )

  test('is decided on with the diff that was on the page, and no other', async () => {
    const shop = await scene()
    const { path, id, show } = await proposed(shop)
    const page = await shop.admin.open(path)
    const isIt = and(eq(proposals.orgId, shop.org.id), eq(proposals.id, id))
    const [row] = await system.db.select().from(proposals).where(isIt)
    await system.db
      .update(proposals)
      .set({ diffSha256: 'f'.repeat(64) })
      .where(isIt)
    expect((await page.form('Approve').submit()).notices[0]).toContain('not the one that was looked at')
    expect((await show()).decided).toBeNull()
    await system.db.update(proposals).set({ diffSha256: row!.diffSha256 }).where(isIt)
    const deny = page.form('Deny')
    expect(page.text).toContain('What is denied is not proposed again')
    const denied = await deny.submit()
    expect(denied.notices).toEqual(['Denied.'])
    expect(denied.text).toContain(`Denied by ${shop.person.name}`)
  })

  test('is stale after a push, retried by the form, and reviewed again', async () => {
    const shop = await scene()
    const { path, show } = await proposed(shop)
    const tree = {
      'src/orders.js':
        '// new\nexport function total(order) {\n  return order.items.length * order.price\n}\n',
    }
    await shop.call(pushRevision, { alias: shop.alias, body: archiveOf(tree) })
    const page = await shop.admin.open(path)
    expect(page.offers('Approve')).toBe(false)
    expect(page.text).toMatch(/approve : The source has changed since/)
    const retried = await page.form('Retry').submit()
    expect(retried.notices).toEqual(['Applied to the new source: review it again.'])
    expect((await show()).state).toBe('ready')
    expect(retried.offers('Approve')).toBe(true)
  })

  test('that was deployed shows whether its error came back, on its page and in the list', async () => {
    const shop = await scene()
    const { path, id } = await proposed(shop)
    expect((await shop.admin.open(path)).text).not.toContain('Since the deployment')
    const hour = (n: number) => new Date(system.clock.now().getTime() + n * 3_600_000).toISOString()
    const effect = {
      deployed_at: hour(-3),
      measured_to: hour(0),
      error: { group: '1', exception: null },
      hours: [
        { at: hour(-5), errors: 17, lines: 900 },
        { at: hour(-3), errors: 0, lines: 4_100 },
      ],
      first_error_at: hour(-5),
      came_back_at: null,
    }
    const isIt = and(eq(proposals.orgId, shop.org.id), eq(proposals.id, id))
    await system.db.update(proposals).set({ state: 'deployed', effect }).where(isIt)
    const page = await shop.admin.open(path)
    expect(page.text).toContain('17 in 2 hours before, 0 of 4,100 lines since.')
    expect(page.text).not.toContain('came back')
    // Counts are for everybody.
    expect((await shop.viewer.open(path)).text).toContain('0 of 4,100 lines since')
    await system.db
      .update(proposals)
      .set({ effect: { ...effect, came_back_at: hour(-1) } })
      .where(isIt)
    expect((await shop.admin.open(path)).text).toContain('Its error came back')
    expect((await shop.admin.open(`${shop.tab}/proposals`)).row('Add up prices')).toContain('Came back')
  })

  test.runIf(inject('everyCase'))(
    'waits in the change queue of all apps, and on the front pages',
    async () => {
      const shop = await scene()
      const none = await shop.admin.open('/console/proposals')
      expect(none.text).toContain('Nothing to review')
      const { path } = await proposed(shop)
      const queue = await shop.admin.open('/console/proposals')
      expect(queue.link('Add up prices')).toBe(path)
      expect(queue.text).toContain('You may approve it')
      for (const front of ['/console', shop.app]) {
        expect((await shop.admin.open(front)).text).toContain('1 proposal to review')
      }
      expect((await shop.admin.open('/console/search?q=add+up')).html).toContain(path)
      const run = `formaction="${shop.tab}/runs"`
      expect((await shop.admin.open('/console/search?q=run+shop')).html).toContain(run)
      expect((await shop.admin.open('/console/search?q=run')).html).not.toContain(run)
      expect((await shop.admin.open('/console/search?q=change')).html).toContain('href="/console/proposals"')
      const denied = await queue.form('Filter').with({ state: 'denied' }).submit()
      expect(denied.text).toContain('No matching proposals')
      expect((await shop.owner.open(`${shop.tab}/proposals`)).link('Add up prices')).toBe(path)
      await (await shop.owner.open('/console/maintenance')).form('Turn off').submit()
      expect((await shop.admin.open('/console/proposals')).row('Add up prices')).toContain(
        'The maintenance agent is turned off',
      )
      expect((await shop.admin.open('/console')).text).not.toContain('to review')
    },
  )
})

describe('the tab of an app', () => {
  test('starts one run for one page, and says when the cool-down ends', async () => {
    const shop = await scene()
    const page = await shop.owner.open(shop.tab)
    expect(page.text).toContain('Every day at 03:00 UTC')
    const form = page.form('Run now')
    const begun = await form.submit()
    expect(begun.path).toMatch(new RegExp(`^${shop.tab}/runs/exec_`))
    const again = await form.submit()
    expect(again.path).toBe(begun.path)
    expect((await shop.call(listMaintenanceRuns, { alias: shop.alias })).runs).toHaveLength(1)
    expect(begun.html).toContain(`data-live="${begun.path}/progress?status=`)
    const progress = await shop.owner.open(`${begun.path}/progress?status=running&steps=0`)
    expect(JSON.parse(progress.html)).toEqual({
      text: '',
      more: `${begun.path}/progress?status=queued&steps=0`,
      ended: true,
    })
    const run = `formaction="${shop.tab}/runs"`
    expect((await shop.admin.open('/console/search?q=run+shop')).html).toContain(run)
    expect((await shop.viewer.open('/console/search?q=run+shop')).html).not.toContain(run)
    await runScript(system, () => turnOf('All is well.'))
    const settings = (await shop.owner.open('/console/maintenance')).form('Save settings')
    await settings.with({ cooldown_hours: '12' }).submit()
    const cooling = await shop.owner.open(shop.tab)
    expect(cooling.offers('Run now')).toBe(false)
    expect(cooling.text).toContain('Manual runs are possible again')
    expect((await page.form('Run now').submit()).path).toBe(begun.path)
  })

  test('is turned off and on, and offers a viewer nothing', async () => {
    const shop = await scene()
    const read = await shop.viewer.open(shop.tab)
    for (const offer of ['Run now', 'Turn off']) expect(read.offers(offer)).toBe(false)
    const off = await (await shop.owner.open(shop.tab)).form('Turn off').submit()
    expect(off.notices).toEqual(['Turned off.'])
    expect(off.offers('Run now')).toBe(false)
    const on = await off.form('Turn on').submit()
    expect(on.notices).toEqual(['Turned on.'])
    expect(on.offers('Run now')).toBe(true)
    await (await shop.owner.open('/console/maintenance')).form('Turn off').submit()
    const away = await shop.owner.open(shop.tab)
    expect(away.text).toContain('The maintenance agent is off')
    expect(away.offers('Run now')).toBe(false)
  })

  test('lists runs by outcome and findings by state', async () => {
    const shop = await scene()
    const { path, run } = await proposed(shop)
    const page = await shop.owner.open(shop.tab)
    expect(page.row('A proposal in the change queue')).toBeTruthy()
    const none = await page.form('Filter').with({ outcome: 'agent_error' }).submit()
    expect(none.text).toContain('No matching runs')
    const findings = await shop.owner.open(`${shop.tab}/findings`)
    const finding = await shop.owner.open(findings.link('Add up prices in orders.js'))
    expect(finding.title).toBe('Add up prices in orders.js')
    // Words that an analyst wrote are for those who may read source.
    expect((await shop.viewer.open(finding.path)).title).toBe('Finding')
    expect(finding.text).toContain('order.items.length * order.price')
    expect((await findings.form('Filter').with({ state: 'quiet' }).submit()).text).toContain(
      'No matching findings',
    )
    const shown = await shop.owner.open(run)
    for (const word of ['Question to the model', 'log_groups', 'read_file', 'propose_change']) {
      expect(shown.text).toContain(word)
    }
    expect(shown.text).toMatch(/[\d,]+ tokens/)
    expect(shown.html).toContain(path)
    expect(shown.html).not.toContain('data-live')
    const step = await shop.owner.open(`${run}/steps/1`)
    expect(step.status).toBe(200)
    const evidence = await shop.owner.open(`${run}/evidence?ref=${encodeURIComponent(REF)}`)
    expect(evidence.html).toContain('<td class="code-number">2</td>')
    for (const end of ['/steps/0', '/steps/x', '/evidence', '/evidence?ref=file:nothing']) {
      expect((await shop.owner.open(run + end)).status).toBe(404)
    }
    expect((await shop.viewer.open(`${run}/evidence?ref=${encodeURIComponent(REF)}`)).status).toBe(403)
  })

  test.runIf(inject('everyCase'))(
    'says how a run ended, here and in the list, and takes nothing but health for health',
    async () => {
      const shop = await scene()
      const executionId = await shop.start()
      await runScript(system, () => turnOf('All is well.'))
      const isIt = eq(maintenanceRuns.id, executionId)
      for (const code of TERMINAL_CODES) {
        const { chip } = outcomeOf(code)
        await system.db.update(maintenanceRuns).set({ terminalCode: code, reason: null }).where(isIt)
        const isWell = code === 'found_nothing'
        for (const path of [`${shop.tab}/runs/${executionId}`, shop.tab]) {
          const { html } = await shop.owner.open(path)
          const [, tone] = new RegExp(`<span class="badge badge-(\\w+)">${chip}</span>`).exec(html) ?? []
          expect([chip, tone]).toEqual([chip, expect.stringMatching(isWell ? /^on$/ : /^(?:off|wait|bad)$/)])
        }
      }
      const known = { terminalCode: 'found_nothing', reason: 'ONLY_KNOWN' } as const
      await system.db.update(maintenanceRuns).set(known).where(isIt)
      for (const path of [shop.app, shop.tab, '/console/maintenance', `${shop.tab}/runs/${executionId}`]) {
        const page = await shop.owner.open(path)
        expect(page.text, path).toContain('It found only what is known already')
        expect(page.html, path).not.toMatch(/badge-on[^<]*>[^<]*Ran, found nothing/)
      }
    },
  )
})

describe('the page of the organization', () => {
  const PAGE = '/console/maintenance'

  test('turns it on with its settings, shows again what was refused, and turns it off', async () => {
    const shop = await scene()
    const settings = () => shop.call(showMaintenanceSettings, { org_id: shop.org.id })
    const page = await shop.owner.open(PAGE)
    // Apps first; then when it runs, in words and as times.
    expect(page.text).toMatch(/Shop.+Tokens today/)
    expect(page.text).toMatch(
      /Every day at 03:00 ?\(UTC\)\. Next: 3 Mar 2026, 03:00 UTC ?, 4 Mar 2026, 03:00 UTC ?, 5 Mar 2026, 03:00 UTC/,
    )
    const off = await page.form('Turn off').submit()
    expect(off.notices).toEqual(['Turned off for every app.'])
    expect((await settings()).enabled).toBe(false)
    expect(off.text).toContain('Turning it on turns on no app')
    const wrong = {
      nightly_cron: 'never',
      token_allowance: '-1',
      protected_paths: 'src/billing/**\n\ninfra/**',
    }
    const refused = await off.form('Turn on').with(wrong).submitUnchecked()
    expect(refused.status).toBe(400)
    expect(refused.form('Turn on').values()).toMatchObject(wrong)
    expect(Object.keys(refused.problems)).toContain('token_allowance')
    const cron = await refused.form('Turn on').with({ token_allowance: '1000' }).submit()
    expect(Object.keys(cron.problems)).toEqual(['nightly_cron'])
    const fixed = {
      model: 'rules',
      nightly_cron: '0 4 * * *',
      timezone: 'Europe/Vienna',
      cooldown_hours: '12',
    }
    const on = await cron.form('Turn on').with(fixed).submit()
    expect(on.notices).toEqual([
      'Saved. The maintenance agent is on.',
      expect.stringMatching(
        /^You changed these settings. What runs propose until .+ another owner or admin approves/,
      ),
    ])
    expect(await settings()).toMatchObject({
      enabled: true,
      model: 'rules',
      nightly_cron: '0 4 * * *',
      timezone: 'Europe/Vienna',
      cooldown_hours: 12,
      token_allowance: 1000,
      protected_paths: ['src/billing/**', 'infra/**'],
    })
    expect(on.form('Save settings').choices('model')).toEqual(expect.arrayContaining(['rules', MODEL]))
  })

  test('shows what was used, and lets an owner choose how agents decide, and nobody else', async () => {
    const shop = await scene()
    await proposed(shop)
    const page = await shop.owner.open(PAGE)
    expect(page.labels.join()).toMatch(/Tokens of the last 30 days: [\d,]+\./)
    const direct = await page.form('Let agents decide').submit()
    const settings = () => shop.call(showMaintenanceSettings, { org_id: shop.org.id })
    expect((await settings()).mcp_decisions).toBe('direct')
    await direct.form('Require a person').submit()
    expect((await settings()).mcp_decisions).toBe('link')
    expect((await shop.admin.open(PAGE)).text).not.toContain('Decisions over MCP')
    expect((await shop.viewer.open(PAGE)).offers('Save settings')).toBe(false)
  })
})
