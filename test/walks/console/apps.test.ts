/** The pages of apps: the list, the front page of one, its people, tokens and tickets, and what support staff see. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../../db/drizzle.ts'
import { throttles, workloadBindings, workloadPods } from '../../../db/schema.ts'
import { createAppToken, listAppTokens } from '../../../src/contracts/app-tokens.ts'
import { createApp, setAppMember, showApp } from '../../../src/contracts/apps.ts'
import { listAudit } from '../../../src/contracts/audit.ts'
import { createCheck, updateCheck } from '../../../src/contracts/checks.ts'
import { createDeployment } from '../../../src/contracts/deployments.ts'
import { makeId } from '../../../src/contracts/ids.ts'
import {
  SERVICE_ACCOUNT_READS,
  WORKLOAD_BINDINGS_PER_APP,
  WORKLOAD_PODS_KEPT,
} from '../../../src/contracts/limits.ts'
import { pushLogs } from '../../../src/contracts/logs.ts'
import { createPipeline } from '../../../src/contracts/pipelines.ts'
import { pushRevision } from '../../../src/contracts/revisions.ts'
import { startSupportSession, elevateSupportSession } from '../../../src/contracts/support.ts'
import {
  bindServiceAccount,
  listServiceAccounts,
  showServiceAccount,
  unbindServiceAccount,
} from '../../../src/contracts/workloads.ts'
import { createTicket, listTickets, replyToTicket, showTicket } from '../../../src/contracts/tickets.ts'
import { addEndingKeeper } from '../../../src/cores/record-ending.ts'
import { sha256 } from '../../../src/trust/keyed-hash.ts'
import { startFakeApiServer, type FakeApiServer } from '../../support/fake-api-server.ts'
import { makeShop, openConsole } from '../../support/console.ts'
import { makeMember, makePerson, unique } from '../../support/make.ts'
import { archiveOf } from '../../support/source.ts'
import { OPERATOR_TOKEN, START_MS, startSystem, type TestSystem } from '../../support/system.ts'

let system: TestSystem
let cluster: FakeApiServer
const namespaces = new Map<string, string[]>()
beforeAll(async () => {
  let now = () => new Date(START_MS)
  cluster = await startFakeApiServer(() => now())
  system = await startSystem(cluster.settings, { workloadNamespaces: namespaces })
  now = () => system.clock.now()
})
afterAll(async () => {
  await system.stop()
  await cluster.close()
})

const TABS = [
  'Overview',
  'Source',
  'Deployments',
  'Logs',
  'Checks',
  'Pipelines',
  'Maintenance',
  'Tickets',
  'People',
  'Settings',
]
const tabsOf = (html: string): string[] =>
  [
    ...(/<nav class="tabs" aria-label="Tabs">.*?<\/nav>/s.exec(html)?.[0] ?? '').matchAll(
      /<a href="([^"]+)"/g,
    ),
  ].map(([, href]) => href!)

describe('the list of apps', () => {
  test('links to each with one’s part, filters, and makes one, for developers and above', async () => {
    const { owner, viewer, app, alias, call, org } = await makeShop(system)
    const billing = unique('billing')
    const developer = await makeMember(system, org, 'developer')
    await system.as({ token: developer.token, organization: org.id })(createApp, {
      alias: billing,
      name: 'Invoices',
    })
    await call(createTicket, { alias, title: 'Broken', body: 'Badly.' })
    const page = await owner.open('/console/apps')
    expect(page.link('The shop')).toBe(app)
    expect(page.link('1 ticket')).toBe(`${app}/tickets`)
    expect(page.text).toMatch(/The shop \S+ (?:Administrator|Maintainer) Running Nothing yet/)
    const found = await page.form('Filter').with({ search: 'invo' }).submit()
    expect(found.text).toContain('Invoices')
    expect(found.text).not.toContain('The shop')
    expect((await page.form('Filter').with({ search: 'nothing' }).submit()).text).toContain(
      'No matching apps',
    )
    const read = await viewer.open('/console/apps')
    expect(read.offers('Create app')).toBe(false)
    expect((await read.form('Filter').with({ mine: 'true' }).submit()).text).not.toContain('Invoices')
    const theirs = await openConsole(system, developer)
    const form = (await theirs.open('/console/apps')).form('Create app')
    const refused = await form.with({ alias: 'Not An Alias', name: 'Kept' }).submit()
    expect([refused.status, Object.keys(refused.problems)]).toEqual([400, ['alias']])
    expect(refused.form('Create app').values()).toMatchObject({ alias: 'Not An Alias', name: 'Kept' })
    const intranet = unique('intranet')
    const made = await refused.form('Create app').with({ alias: intranet, name: 'Intranet' }).submit()
    expect([made.path, made.title]).toEqual([`/console/apps/${intranet}`, 'Intranet'])
  })
})

describe('one app', () => {
  test('has tabs, the current one marked; source and logs are for developers and whoever works on it', async () => {
    const { owner, viewer, app, alias, call, viewing } = await makeShop(system)
    const first = await owner.open(app)
    const paths = tabsOf(first.html)
    expect(paths).toHaveLength(TABS.length)
    for (const [at, path] of paths.entries()) {
      const page = await owner.open(path)
      expect(page.html).toContain(`href="${path}" aria-current="page">${TABS[at]}`)
      expect(page.html).toContain(`<title>${TABS[at]} · The shop · `)
    }
    const hidden = tabsOf((await viewer.open(app)).html)
    for (const tab of ['/source', '/logs', '/settings']) {
      expect(hidden).not.toContain(app + tab)
      expect((await viewer.open(app + tab)).status).toBe(404)
    }
    await call(setAppMember, { alias, user_id: viewing.userId, role: 'builder' })
    expect(tabsOf((await viewer.open(app)).html)).toContain(`${app}/logs`)
    expect((await owner.open('/console/apps/nothing')).status).toBe(404)
    // Links from when the lists were on the front page.
    expect((await owner.open(`${app}?status=in_progress`)).path).toBe(`${app}/tickets?status=in_progress`)
    expect((await owner.open(`${app}?person=grace`)).path).toBe(`${app}/people?person=grace`)
  })

  test('empty, it gives the command to those who work on it; with everything it says what runs', async () => {
    const { owner, viewer, app, alias, call } = await makeShop(system)
    expect((await owner.open(app)).text).toContain(`svc apps push ${alias} --deploy`)
    expect((await viewer.open(app)).text).not.toContain('svc apps push')
    const { id: revision_id } = await call(pushRevision, { alias, body: archiveOf({ 'a.js': '1\n' }) })
    await call(createDeployment, { alias, revision_id })
    const time = system.clock.now().toISOString()
    await call(pushLogs, {
      alias,
      body: Buffer.from(JSON.stringify({ time, level: 'error', message: 'broken' })),
    })
    const definition = { kind: 'logs', pattern: 'x' } as const
    const { id: check_id } = await call(createCheck, { alias, name: 'one', definition })
    await call(createPipeline, { alias, name: 'nightly', cron: '0 3 * * *' })
    expect((await owner.open(app)).text).toContain('No results yet of 1, 1 pending')
    const listed = await owner.open('/console/apps')
    expect(listed.link('1 error')).toBe(`${app}/logs?view=groups&level=error`)
    expect(listed.text).toMatch(
      /Running Nothing yet Last deployment .+ Queued .* Errors, 24 hours 1 error Open Nothing/,
    )
    expect(listed.link('one')).toBe(`${app}/checks/${check_id}`)
    expect((await viewer.open('/console/apps')).text).not.toContain('Errors, 24 hours')
    await call(updateCheck, { alias, check_id, enabled: false })
    const page = await owner.open(app)
    expect(page.text).toContain('None running of 1, 1 paused')
    expect(page.text).toMatch(/Errors in 7 days 1 of 1 line/)
    expect(page.text).toMatch(/Last deployments .*Queued/)
    expect(page.text).toContain('Next ')
    const read = await viewer.open(app)
    expect(read.text).toContain('Last deployments')
    for (const words of ['Errors in 7 days', 'Log lines', 'Tokens']) expect(read.text).not.toContain(words)
    expect((await viewer.open(`${app}/tokens/new`)).status).toBe(403)
  })

  test('is renamed, and its people put on it, changed and taken off, by those who may', async () => {
    const { owner, viewer, app, alias, call, viewing } = await makeShop(system)
    const rename = (await owner.open(`${app}/settings`)).form('Save name')
    expect((await rename.with({ name: '' }).submitUnchecked()).status).toBe(400)
    const renamed = await rename.with({ name: 'The store' }).submit()
    expect([renamed.title, renamed.notices]).toEqual(['The store', ['App renamed to The store.']])
    const people = `${app}/people`
    const page = await owner.open(people)
    const added = await page.form('Add to app').with({ user_id: viewing.userId, role: 'maintainer' }).submit()
    const partOf = async () =>
      (await call(showApp, { alias })).members.find(({ user_id }) => user_id === viewing.userId)?.role
    expect(await partOf()).toBe('maintainer')
    await added.form('Save', viewing.userId).with({ role: 'builder' }).submit()
    expect(await partOf()).toBe('builder')
    expect((await viewer.open(people)).offers('Leave app')).toBe(true)
    await added.form('Remove from app', viewing.userId).submit()
    expect(await partOf()).toBeUndefined()
    const read = await viewer.open(people)
    expect(['Add to app', 'Save', 'Remove from app'].filter((words) => read.offers(words))).toEqual([])
    expect((await viewer.open(`${app}/settings`)).status).toBe(404)
  })

  test('binds service accounts of a cluster, for admins, and removes them', async () => {
    const { owner, viewer, app, call, alias, org } = await makeShop(system)
    const namespace = unique('ns')
    namespaces.set(org.id, [namespace])
    cluster.addAccount(namespace, 'nightly', { 'svc.dev/org': org.id })
    const form = (await owner.open(`${app}/service-accounts/new`)).form('Bind service account')
    const refused = await form.with({ namespace: 'Shop', service_account: 'nightly' }).submit()
    expect([refused.status, Object.keys(refused.problems)]).toEqual([400, ['namespace']])
    expect(refused.form('Bind service account').value('namespace')).toBe('Shop')
    const bound = await refused.form('Bind service account').with({ namespace }).submit()
    const accounts = async () => (await call(listServiceAccounts, { alias })).service_accounts
    expect(await accounts()).toMatchObject([{ namespace, service_account: 'nightly' }])
    const people = await owner.open(`${app}/people`)
    expect(people.text).toContain(`${namespace}/nightly`)
    expect((await viewer.open(`${app}/people`)).offers('Remove service account')).toBe(false)
    expect(bound.notices).toHaveLength(1)
    await people.form('Remove service account').submit()
    expect(await accounts()).toEqual([])
  })

  test('has service accounts that the operator and their annotation give it, and says what a binding has ended', async () => {
    const [here, there] = [await makeShop(system), await makeShop(system)]
    const namespace = unique('ns')
    const account = { namespace, service_account: 'nightly' }
    type Shop = typeof here
    const give = (...shops: Shop[]) => {
      for (const { org } of [here, there]) namespaces.set(org.id, [])
      for (const { org } of shops) namespaces.set(org.id, [namespace])
    }
    const named = ({ org }: Shop) => cluster.addAccount(namespace, 'nightly', { 'svc.dev/org': org.id })
    const bind = ({ call, alias }: Shop) => call(bindServiceAccount, { alias, ...account })
    const boundTo = async ({ call }: Shop, alias: string) =>
      (await call(listServiceAccounts, { alias })).service_accounts.map(({ id }) => id)
    const told = async ({ call, org }: Shop) =>
      (await call(listAudit, { org_id: org.id, action: 'app.service_account_unbound' })).audit.map(
        ({ actor }) => [actor.kind, actor.name],
      )

    const ended: string[] = []
    const leave = addEndingKeeper(system.ownDb, {
      async committing(all) {
        ended.push(...all.filter(({ kind }) => kind === 'service_account').map(({ id }) => id))
        return async () => {}
      },
    })
    give(here)
    named(there)
    await expect(bind(there)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(bind(here)).rejects.toMatchObject({ code: 'CONFLICT' })
    const { uid } = named(here)
    const bound = await bind(here)
    const token = await cluster.mint(namespace, 'nightly')
    const send = () => system.as({ token })(pushLogs, { alias: here.alias, body: Buffer.from('a line\n') })
    const pods = Array.from({ length: WORKLOAD_PODS_KEPT }, (_, n) => {
      const at = new Date(system.clock.now().getTime() - (n + 1) * 1_000)
      return { bindingId: bound.id, podUid: `pod-${n}`, podName: `old-${n}`, firstSeenAt: at, lastSeenAt: at }
    })
    await system.db.insert(workloadPods).values(pods)
    await send()
    const [shown] = (await here.call(listServiceAccounts, { alias: here.alias })).service_accounts
    const kept = pods.slice(0, -1).map(({ podName }) => podName)
    expect(shown!.pods.map(({ name }) => name)).toEqual(['nightly-1', ...kept])
    const empty = unique('empty')
    await here.call(createApp, { alias: empty, name: 'Empty' })
    expect(await boundTo(here, empty)).toEqual([])
    await expect(
      here.call(unbindServiceAccount, { alias: empty, binding_id: bound.id }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })

    // Handed over as it is: bound there, and here no more; who acts there is not told here.
    give(there)
    Object.assign(named(there), { uid })
    const theirs = await bind(there)
    expect(await boundTo(here, here.alias)).toEqual([])
    expect([await told(here), await told(there)]).toEqual([[['system', 'svc']], []])
    await expect(send()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    // What was bound after the cluster was asked is not ended by its answer.
    const isTheirs = eq(workloadBindings.id, theirs.id)
    const later = new Date(system.clock.now().getTime() + 1_000)
    const [row] = await system.db
      .update(workloadBindings)
      .set({ createdAt: later })
      .where(isTheirs)
      .returning()
    give(here)
    Object.assign(named(here), { uid })
    await expect(bind(here)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await boundTo(there, there.alias)).toEqual([theirs.id])

    await there.call(unbindServiceAccount, { alias: there.alias, binding_id: theirs.id })
    leave()
    expect(ended).toEqual([bound.id, theirs.id])

    const many = Array.from({ length: WORKLOAD_BINDINGS_PER_APP }, (_, n) => {
      const id = makeId('wlb', START_MS)
      return { ...row!, id, serviceAccount: `worker-${n}`, createdAt: system.clock.now() }
    })
    await system.db.insert(workloadBindings).values(many)
    give(there)
    cluster.addAccount(namespace, 'one-more', { 'svc.dev/org': there.org.id })
    await expect(
      there.call(bindServiceAccount, { alias: there.alias, namespace, service_account: 'one-more' }),
    ).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(
      there.call(showServiceAccount, { namespace, service_account: 'one-more' }),
    ).resolves.toMatchObject({ namespace })
    const { seconds } = SERVICE_ACCOUNT_READS
    const fullUntil = new Date(system.clock.now().getTime() + seconds * 1_000)
    await system.db
      .update(throttles)
      .set({ fullUntil })
      .where(eq(throttles.key, sha256(`service-accounts:${there.org.id}`)))
    await expect(
      there.call(showServiceAccount, { namespace, service_account: 'one-more' }),
    ).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('creates tokens whose value is shown once, and revokes them', async () => {
    const { owner, app, alias, call } = await makeShop(system)
    for (const [scope, words] of [
      ['apps:report', 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://localhost:4000/v1/logs'],
      ['apps:run', `svc apps runner ${alias} --exec ./deploy.sh`],
    ] as const) {
      const form = (await owner.open(`${app}/tokens/new?scope=${scope}`)).form('Create token')
      expect((await form.with({ name: '' }).submitUnchecked()).status).toBe(400)
      const made = await form.with({ name: 'Web' }).submit()
      expect([made.status, made.text]).toEqual([201, expect.stringContaining(words)])
      const value = /svca_\w+/.exec(made.html)![0]
      expect((await owner.open(`${app}/settings`)).html).not.toContain(value)
    }
    await call(createAppToken, { alias, name: 'Kept', scope: 'apps:run' })
    const tokens = async () => (await call(listAppTokens, { alias })).tokens
    expect((await tokens()).map(({ name, scope }) => `${name} ${scope}`).toSorted()).toEqual([
      'Kept apps:run',
      'Web apps:report',
      'Web apps:run',
    ])
    const web = (await tokens()).find(({ name }) => name === 'Web')!
    const rotated = await (await owner.open(`${app}/settings`)).form('Rotate', web.id).submit()
    expect([rotated.status, rotated.text]).toEqual([
      200,
      expect.stringContaining('The old value works until'),
    ])
    const value = /svca_\w+/.exec(rotated.html)![0]
    const shown = await owner.open(`${app}/settings`)
    expect(shown.html).not.toContain(value)
    expect(shown.html).toContain('never used, works until')
    await shown.form('Revoke token', web.id).submit()
    expect((await tokens()).map(({ id }) => id)).not.toContain(web.id)
  })
})

describe('a ticket', () => {
  test('is filed, listed by status, answered aloud or by a note, and moved', async () => {
    const { owner, viewer, app, alias, call, viewing } = await makeShop(system)
    const path = `${app}/tickets`
    const form = (await viewer.open(`${path}/new`)).form('Create ticket')
    const refused = await form.with({ title: ' ', body: 'Kept' }).submit()
    expect([refused.status, refused.form('Create ticket').value('body')]).toEqual([400, 'Kept'])
    const filed = await form.with({ title: 'It broke', body: 'One\ntwo' }).submit()
    const ticket_id = filed.path.split('/').at(-1)!
    const stored = () => call(showTicket, { alias, ticket_id })
    expect(await stored()).toMatchObject({ title: 'It broke', body: 'One\ntwo', status: 'open' })
    const list = await viewer.open(path)
    expect(list.link('It broke')).toBe(filed.path)
    expect((await list.form('Filter').with({ status: 'done' }).submit()).text).toContain(
      'No matching tickets',
    )
    expect((await viewer.open(`${path}?status=nonsense`)).rows).toHaveLength(1)
    // Notes and taking it in progress are for those who work on the app.
    expect(filed.offers('Start progress')).toBe(false)
    expect(filed.offers('Mark as done')).toBe(true)
    expect(filed.form('Send').has('internal')).toBe(false)
    const page = await owner.open(filed.path)
    expect((await page.form('Send').with({ body: ' ' }).submit()).status).toBe(400)
    await page.form('Send').with({ body: 'Which browser?' }).submit()
    const noted = await page.form('Send').with({ body: 'Looks like the cookie', internal: 'yes' }).submit()
    expect((await stored()).replies).toMatchObject([
      { body: 'Which browser?', internal: false },
      { body: 'Looks like the cookie', internal: true },
    ])
    expect(noted.html).toMatch(/message-note[\s\S]*Looks like the cookie/)
    await system.as({ token: viewing.token })(replyToTicket, {
      alias,
      ticket_id,
      body: 'The one on the tablet',
    })
    const read = await viewer.open(filed.path)
    expect(read.text).not.toContain('cookie')
    expect(read.text.indexOf('Which browser')).toBeLessThan(read.text.indexOf('The one on the tablet'))
    const begun = await noted.form('Start progress').submit()
    expect((await stored()).status).toBe('in_progress')
    expect((await owner.open(`${path}?status=in_progress`)).rows).toHaveLength(1)
    const done = await begun.form('Mark as done').submit()
    expect((await stored()).status).toBe('done')
    expect(done.offers('Reopen')).toBe(true)
    expect((await call(listTickets, { alias })).tickets).toHaveLength(1)
  })
})

test('support staff are offered nothing to change, at whatever level their session is', async () => {
  const { org, app, alias, call } = await makeShop(system)
  const staff = await makePerson(system)
  const asked = { org: org.id, staff_email: staff.email, reason: 'They asked for help' }
  const { id: support_session_id } = await system.as({ token: OPERATOR_TOKEN })(startSupportSession, asked)
  await system.as({ token: staff.token, organization: org.id })(elevateSupportSession, {
    support_session_id,
    reason: 'To repair it',
  })
  const definition = { kind: 'logs', pattern: 'x' } as const
  const { id: check } = await call(createCheck, { alias, name: 'one', definition })
  const { id: pipeline } = await call(createPipeline, { alias, name: 'nightly' })
  const support = await openConsole(system, staff)
  await (await support.open('/console/organizations')).form(`Open ${org.name}`).submit()
  for (const [path, offers] of [
    ['/deployments', ['Roll back', 'Deploy']],
    ['/checks', ['New check', 'Create a check']],
    [`/checks/${check}`, ['Run now', 'Edit', 'Turn off', 'Add window']],
    ['/maintenance', ['Run now', 'Turn off', 'Turn on']],
    ['/pipelines', ['New pipeline']],
    [`/pipelines/${pipeline}`, ['Run now', 'Edit', 'Remove pipeline']],
  ] as const) {
    const page = await support.open(app + path)
    expect(page.text).toContain('Support session in')
    expect(page.text).not.toContain('svc apps')
    expect([path, offers.filter((words) => page.offers(words))]).toEqual([path, []])
  }
  for (const tab of ['/source', '/logs', '/settings']) {
    expect((await support.open(app + tab)).status).toBe(404)
  }
})
