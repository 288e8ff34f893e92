/** The front page, and the pages that look across: activity, audit trail, search, and connecting an assistant. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  checks,
  activity,
  auditLog,
  dataSourceHealth,
  integrations,
  platformAccessGrants,
} from '../../../db/schema.ts'
import { eq } from '../../../db/drizzle.ts'
import { createCheck } from '../../../src/contracts/checks.ts'
import { PAGE_MAX } from '../../../src/contracts/limits.ts'
import { makeId } from '../../../src/contracts/ids.ts'
import { connectWebhook, pauseIntegration, resumeIntegration } from '../../../src/contracts/integrations.ts'
import { updateOrganization } from '../../../src/contracts/organizations.ts'
import { SCOPE_EDITION } from '../../../src/contracts/scopes.ts'
import { createTicket } from '../../../src/contracts/tickets.ts'
import { ASSISTANTS } from '../../../src/console/pages/connect/assistants.ts'
import { makeShop, type ConsolePage } from '../../support/console.ts'
import { insertSource } from '../../support/data-sources.ts'
import { insertDelivery } from '../../support/deliveries.ts'
import { fakeChecks } from '../../support/fake-integrations.ts'
import { unique, type Org, type Person } from '../../support/make.ts'
import { statementsDuring } from '../../support/statements.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'
import { wordsOf } from '../../support/walker.ts'

let [system, open]: TestSystem[] = []
beforeAll(async () => {
  system = await startSystem({}, { checks: fakeChecks })
  open = await startSystem({ MCP_URL: 'https://mcp.example.com' }, { checks: fakeChecks })
})
afterAll(async () => {
  await system?.stop()
  await open?.stop()
})

const DAY_MS = 86_400_000
const HOSTILE = '</bdi><script>alert(1)</script>'
type Call = Partial<typeof activity.$inferInsert>

async function scene(of = system!) {
  const shop = await makeShop(of)
  const { org } = shop
  /** As the gateway keeps it, some days ago. */
  async function addCall(days: number, row: Call = {}, person: Person = org.owner): Promise<void> {
    const at = new Date(of.clock.now().getTime() - days * DAY_MS)
    await of.db.insert(activity).values({
      orgId: org.id,
      id: makeId('act', at.getTime()),
      at,
      type: 'data_source',
      name: 'db_handbook',
      userId: person.userId,
      userName: person.name,
      entryPoint: 'api',
      outcome: 'answered',
      durationMs: 41,
      questionBytes: 38,
      answerBytes: 5_200,
      hits: 10,
      requestId: 'req_1',
      ...row,
    })
  }
  return { ...shop, addCall, addGrant: (person: Person, row = {}) => insertGrant(of, org, person, row) }
}

async function insertGrant(
  of: TestSystem,
  org: Org,
  person: Person,
  row: Partial<typeof platformAccessGrants.$inferInsert>,
) {
  const now = of.clock.now()
  const id = makeId('grt', now.getTime())
  await of.db.insert(platformAccessGrants).values({
    id,
    orgId: org.id,
    userId: person.userId,
    clientId: 'https://assistant.example/client.json',
    clientKind: 'metadata_document',
    clientName: 'Assistant',
    redirectHost: 'assistant.example',
    resource: 'platform',
    scopes: ['data:read'],
    scopeEdition: SCOPE_EDITION,
    payload: {},
    keyEpoch: of.system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + DAY_MS),
    ...row,
  })
  return id
}

/** The words of the card with this heading. */
const cardOf = ({ html }: ConsolePage, title: string): string =>
  wordsOf(`<section${html.split('<section').find((part) => part.includes(`>${title}</h2>`)) ?? ''}`)
const linksOf = ({ html }: ConsolePage): string[] =>
  [...html.slice(html.indexOf('<main')).matchAll(/href="([^"]+)"/g)].map(([, href]) =>
    href!.replaceAll('&amp;', '&'),
  )

describe('the front page', () => {
  test('has first steps for those who may take them, and says when nothing needs them', async () => {
    const { owner, viewer } = await scene()
    const page = await owner.open('/console')
    for (const step of ['Expose a data source', 'Connect an assistant'])
      expect(cardOf(page, 'Get started')).toContain(step)
    expect(page.text).toContain('No calls in the last seven days')
    expect(page.html).not.toContain('role="img"')
    expect(cardOf(page, 'Needs your attention')).toContain('Nothing right now.')
    expect(page.text).not.toContain('Ask your data')
    const theirs = cardOf(await viewer.open('/console'), 'Get started')
    expect(theirs).toContain('Connect an assistant')
    expect(theirs).not.toMatch(/Invite|Expose/)
  })

  test('counts seven days in numbers that lead to as many rows; others than admins see their own', async () => {
    const { owner, viewer, viewing, addCall, addGrant } = await scene()
    const grantId = await addGrant(viewing)
    for (const days of [0.01, 0.02, 2, 6]) await addCall(days)
    await addCall(8)
    await addCall(2, { type: 'function', name: 'whoami', outcome: 'refused' })
    const agent = { entryPoint: 'mcp', grantId, clientId: 'dyn_1', clientName: HOSTILE } as const
    await addCall(0.01, agent, viewing)
    const page = await owner.open('/console')
    expect(page.labels.join()).toContain(
      'Calls per day in the last seven days: 5 questions, 1 function call.',
    )
    expect(page.text).toContain('Questions, 7 days 5 3 today')
    expect(page.text).toContain('Function calls, 7 days 1 0 today')
    expect(cardOf(page, 'Questions and calls')).toContain('1 call refused')
    for (const [href, count] of [
      ['/console/activity?from=2026-02-24', 5],
      ['/console/activity?type=function&from=2026-02-24', 1],
    ] as const) {
      expect(linksOf(page)).toContain(href)
      expect((await owner.open(href)).text).toMatch(new RegExp(`(?:Questions|Functions) ${count}\\b`))
    }
    expect(linksOf(page)).toContain(`/console/agents/${grantId}`)
    expect(page.html).not.toContain('<script>alert')
    expect(page.text).toContain('Connected agents 1 1 called in 7 days')
    const theirs = await viewer.open('/console')
    expect(theirs.text).toContain('Your questions, 7 days 1')
    expect(theirs.text).not.toContain('Integrations')
  })

  test('says which integrations and data sources need somebody who can mend them', async () => {
    const { owner, viewer, org, call } = await scene()
    const connect = async (name: string) =>
      (await call(connectWebhook, { name, url: `https://hooks.test/${unique('s')}` })).id
    const change = (id: string, set: Partial<typeof integrations.$inferInsert>) =>
      system!.db.update(integrations).set(set).where(eq(integrations.id, id))
    const [failing, dead, off, never] = [
      await connect('Ops'),
      await connect('Archive'),
      await connect('Old'),
      await connect('New'),
    ]
    const lastSuccessAt = new Date('2026-03-01T09:00:00Z')
    await change(failing, { lastSuccessAt, failingSince: new Date('2026-03-01T10:00:00Z') })
    await change(dead, { state: 'dead' })
    await change(off, { state: 'off' })
    await insertDelivery(
      system!,
      org,
      { integrationId: never, state: 'retrying', reason: 'rate_limited', settledAt: null },
      [{ outcome: 'failed', reason: 'rate_limited', httpStatus: 429 }],
    )
    // Before the days in which the last 24 hours lie.
    const createdAt = new Date(system!.clock.now().getTime() - 4 * 86_400_000)
    await insertDelivery(
      system!,
      org,
      {
        integrationId: await connect('Unheard'),
        state: 'retrying',
        reason: 'rate_limited',
        settledAt: null,
        createdAt,
      },
      [{ outcome: 'failed', reason: 'rate_limited', httpStatus: 429 }],
    )
    const { id: sourceId } = await insertSource(system!, org, {
      name: 'handbook',
      enabled: true,
      exposed: true,
    })
    const problems = [{ kind: 'missing_index', text: 'The vectors have no index.' }] as const
    await system!.db
      .insert(dataSourceHealth)
      .values({ orgId: org.id, sourceId, checkedAt: system!.clock.now(), problems })
    const page = await owner.open('/console')
    const card = cardOf(page, 'Needs your attention')
    expect(card).toContain('Ops is failing Messages have failed since 1 Mar 2026, 10:00 UTC')
    expect(card).toContain('Archive is failing It failed for days')
    expect(card).toContain('New never worked Nothing arrived in the last 24 hours: HTTP 429.')
    expect(card).toContain('The vectors have no index.')
    expect(card).toContain('1 more integration failing')
    expect(card).not.toContain('Old')
    expect(linksOf(page)).toContain(`/console/integrations/${dead}`)
    expect(page.text).toContain('Integrations 5 4 failing')
    expect((await viewer.open('/console')).text).not.toContain('The vectors have no index.')
    for (const name of ['Five', 'Six']) await change(await connect(name), { state: 'gone' })
    expect(cardOf(await owner.open('/console'), 'Needs your attention')).toContain(
      '3 more integrations failing',
    )
    expect(page.form('Ask').path).toBe('/console/data-sources/search')
  })
})

describe('activity', () => {
  const PATH = '/console/activity'
  /** The list itself: the charts hold a table too. */
  const rowsOf = ({ rows }: ConsolePage) =>
    rows.filter((cells) => cells.length > 5).map((cells) => cells.join(' | '))

  test('is a tab of questions and one of functions, drawn, filtered by the form, and paged with the filters', async () => {
    const { owner, viewer, viewing, addCall, addGrant } = await scene()
    const empty = await owner.open(PATH)
    expect(empty.text).toContain('No questions yet')
    expect(empty.html).not.toContain('role="img"')
    expect((await owner.open(`${PATH}?type=function`)).text).toContain('No function calls yet')
    const grantId = await addGrant(viewing)
    const agent = {
      entryPoint: 'mcp',
      grantId,
      clientId: 'https://assistant.example/client.json',
      clientName: 'Assistant',
    } as const
    await addCall(0.01)
    await addCall(
      2,
      { ...agent, outcome: 'refused', error: 'RATE_LIMITED', durationMs: 1_240, answerBytes: 0, hits: null },
      viewing,
    )
    await addCall(0.02, { type: 'function', name: 'whoami' })
    await addCall(0.01, { userName: '<script>alert(1)</script>', clientId: '"><script>alert(2)</script>' })
    const page = await owner.open(PATH)
    expect(page.text).toContain('Questions and answers are never stored, only sizes and digests.')
    expect(page.text).toMatch(/Questions 3 Functions 1/)
    expect(page.html).not.toContain('<script>alert')
    const rows = rowsOf(page)
    expect(rows).toHaveLength(3)
    expect(rows.join('\n')).toMatch(/db_handbook \| .* \| api \| answered 10 hits.*41 ms.*38 B → 5\.1 KiB/)
    expect(rows.at(-1)).toMatch(/\| assistant\.example \| refused RATE_LIMITED.*1\.2 s.*38 B → 0 B/)
    expect(page.labels.join()).toMatch(/Questions per day, 1 Feb to 2 Mar: 2 answered, 1 refused, 0 failed/)
    expect(page.labels.join()).toContain('Share refused: 33%, 1 of 3; 0 failed.')
    const by = async (filling: Record<string, string>) =>
      rowsOf(await page.form('Filter').with(filling).submit()).length
    expect(await by({ outcome: 'refused' })).toBe(1)
    expect(await by({ via: 'mcp' })).toBe(1)
    expect(await by({ agent: grantId })).toBe(1)
    expect(await by({ person: viewing.userId })).toBe(1)
    expect(await by({ from: '2026-02-28', to: '2026-02-28' })).toBe(1)
    expect((await page.form('Filter').with({ outcome: 'failed' }).submit()).text).toContain(
      'No activity found',
    )
    const nonsense = `${PATH}?type=x&outcome=y&person=z&agent=a&via=b&from=2026-02-31&to=0000-01-01&source=${'a'.repeat(80)}`
    expect((await owner.open(nonsense)).status).toBe(200)
    // Others see their own, also by an address that an admin passed on.
    const own = await viewer.open(`${PATH}?type=data_source&person=${viewing.userId}`)
    expect(rowsOf(own)).toHaveLength(1)
    expect(own.form('Filter').has('person')).toBe(false)
    for (let n = 0; n < 50; n++) await addCall(0.005)
    const many = await owner.open(`${PATH}?type=data_source&outcome=answered`)
    const next = many.link('Next page')
    expect(next).toContain('type=data_source&outcome=answered&cursor=')
    expect(rowsOf(await owner.open(next))).toHaveLength(2)
    const functions = linksOf(
      await owner.open(`${PATH}?type=data_source&source=db_handbook&via=mcp&cursor_page=2`),
    )
    expect(functions).toContain('/console/activity?type=function&via=mcp')
  })
})

describe('the audit trail', () => {
  const PATH = '/console/audit'

  test('is found by words, action, person and day, and exported with the filters, for owners and admins', async () => {
    const { owner, org, viewer, alias } = await scene()
    const page = await owner.open(PATH)
    expect(page.text).toContain(alias)
    const found = await page.form('Filter').with({ search: alias }).submit()
    expect(found.rows.length).toBeGreaterThan(0)
    expect(found.rows.length).toBeLessThan(page.rows.length)
    // A wildcard is a letter like any other.
    for (const search of ['nobody-did-this', '%'])
      expect((await page.form('Filter').with({ search }).submit()).text).toContain('No entries found')
    const created = await page
      .form('Filter')
      .with({ action: 'app.created', person: org.owner.userId })
      .submit()
    expect(created.rows).toHaveLength(1)
    expect((await page.form('Filter').with({ from: '2027-01-01' }).submit()).text).toContain(
      'No entries found',
    )
    const day = system!.clock.now().toISOString().slice(0, 10)
    const ofDay = await page.form('Filter').with({ from: day, to: day }).submit()
    expect(ofDay.rows).toHaveLength(page.rows.length)
    const exported = await owner.open(`${PATH}.csv?from=${day}&to=${day}`)
    expect(exported.html.trim().split('\r\n')).toHaveLength(1 + page.rows.length)
    expect((await owner.open(`${PATH}?action=x&person=y&from=z&to=2026-99-99`)).status).toBe(200)
    expect((await owner.open(`${PATH}?search=%3Cimg%3E`)).html).not.toContain('<img>')
    await system!.db
      .update(auditLog)
      .set({ subject: '=HYPERLINK("http://evil.example")' })
      .where(eq(auditLog.orgId, org.id))
    const [csv, ndjson] = ['csv', 'ndjson'].map((format) => `${PATH}.${format}?action=app.created`)
    expect(linksOf(await owner.open(`${PATH}?action=app.created&cursor_page=3`))).toEqual(
      expect.arrayContaining([csv, ndjson]),
    )
    const sheet = await owner.open(csv!)
    expect(sheet.headers.get('content-disposition')).toBe('attachment; filename="audit-2026-03-02.csv"')
    expect([sheet.headers.get('content-type'), sheet.headers.get('cache-control')]).toEqual([
      'text/csv; charset=utf-8',
      'no-store',
    ])
    const [head, ...lines] = sheet.html.trim().split('\r\n')
    expect(head).toBe(
      '"at","id","action","actor_kind","actor_id","actor_name","subject","request_id","support_session_id"',
    )
    expect(lines).toEqual([expect.stringContaining(`"'=HYPERLINK(""http://evil.example"")"`)])
    const objects = await owner.open(ndjson!)
    expect(objects.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(JSON.parse(objects.html)).toMatchObject({ action: 'app.created' })
    for (const path of [PATH, csv!, ndjson!]) {
      const refused = await viewer.open(path)
      expect([refused.status, refused.headers.get('content-disposition')]).toEqual([403, null])
    }
  })
})

test('an entry of the audit trail leads to what it names, whose title only those read who may', async () => {
  const { owner, org, alias } = await scene()
  const made = await org.owner.call(createTicket, {
    alias,
    title: 'Salaries are wrong',
    body: 'All of them.',
  })
  const entries = { action: 'ticket.filed' }
  const page = await (await owner.open('/console/audit')).form('Filter').with(entries).submit()
  expect(page.text).toContain(`${alias}: ${made.id}`)
  expect(page.text).not.toContain('Salaries')
  const ticket = await owner.open(page.link(made.id))
  expect([ticket.status, ticket.path]).toEqual([200, `/console/apps/${alias}/tickets/${made.id}`])
  expect(ticket.text).toContain('Salaries are wrong')
  await system!.db.update(auditLog).set({ requestId: 'first-run' }).where(eq(auditLog.orgId, org.id))
  expect((await owner.open('/console/audit?action=ticket.filed')).rows[0]).toContain('first-run')
  // Neither of something without a page, nor a name that looks like one.
  const [id, user] = [makeId('tkt', 0), makeId('usr', 0)]
  for (const subject of [`${alias}: ${user}`, `${alias}: ${id}x`, `Shop: ${id}`, `${alias} ${id}`]) {
    await system!.db.update(auditLog).set({ subject }).where(eq(auditLog.orgId, org.id))
    const shown = await owner.open('/console/audit?action=ticket.filed')
    expect(shown.text).toContain(subject)
    expect([id, `${id}x`, user].some((words) => shown.offers(words))).toBe(false)
  }
})

test('an export stops when its reader leaves', async () => {
  const { owner, org } = await scene()
  const now = system!.clock.now()
  const row = { orgId: org.id, at: now, action: 'app.created', actorKind: 'user', actorName: 'Ada' } as const
  const rows = Array.from({ length: 5 * PAGE_MAX }, () => ({ ...row, id: makeId('aud', now.getTime()) }))
  await system!.db.insert(auditLog).values(rows)
  const url = new URL('/console/audit.csv', system!.system.config.APP_URL)
  const cookie = owner.walker.jar.headerFor(url, {
    isCrossSite: false,
    isForeignPost: false,
    knowsSameSite: true,
  })
  const pagesRead = async (work: () => Promise<unknown>) =>
    (await statementsDuring(system!.db, work)).filter((text) => text.includes('from "audit_log"')).length
  const whole = await pagesRead(() => owner.open(url.pathname))
  expect(whole).toBeGreaterThan(5)
  const both = await pagesRead(async () => {
    const { body } = await system!.service(new Request(url, { headers: { cookie } }))
    const reader = body!.getReader()
    await reader.read()
    await reader.cancel()
    // As long as it takes to read all of it.
    await owner.open(url.pathname)
  })
  expect(both - whole).toBeGreaterThan(0)
  expect(both - whole).toBeLessThan(4)
})

describe('the search', () => {
  // Not what every page brings along for the dialog.
  const foundAt = ({ html }: ConsolePage): string[] =>
    [...html.split('</main>')[0]!.matchAll(/class="found-item"[^>]* (?:href|formaction)="([^"]+)"/g)].map(
      ([, href]) => href!.replaceAll('&amp;', '&'),
    )

  test('finds pages, data sources, apps, tickets, agents and ids, and nothing that the reader may not see', async () => {
    const { owner, viewer, app, alias, call, org, addGrant } = await scene()
    const { id } = await call(createTicket, { alias, title: 'The basket is empty', body: 'x' })
    await insertSource(system!, org, { name: 'handbook', title: 'Handbook', enabled: true })
    await addGrant(org.owner)
    const { id: integration } = await call(connectWebhook, {
      name: 'Desk',
      url: 'https://hooks.test/abcdefgh',
    })
    const { id: delivery } = await insertDelivery(system!, org, { integrationId: integration })
    const search = async (q: string, who = owner) =>
      foundAt(await (await who.open('/console/search')).form('Search', 'Search for').with({ q }).submit())
    expect(await search('audit')).toContain('/console/audit')
    expect(await search('handbook')).toContain('/console/data-sources/db_handbook')
    expect(await search('the shop')).toContain(app)
    expect(await search('basket')).toContain(`${app}/tickets/${id}`)
    expect(await search(id)).toEqual([`${app}/tickets/${id}`])
    expect((await search('assistant.example')).join()).toContain('/console/agents/grt_')
    expect(await search(delivery)).toEqual([`/console/deliveries/${delivery}`])
    expect(await search(integration)).toEqual([`/console/integrations/${integration}`])
    for (const q of ['audit', 'handbook', 'assistant.example', delivery])
      expect(await search(q, viewer)).toEqual([])
    // What can be done, by whoever may.
    const pause = `/console/integrations/${integration}/pause`
    expect(await search('invite admin')).toEqual(['/console/members?invite=admin#invite'])
    expect(await search('pause desk')).toEqual([pause])
    expect(await search('resume desk')).toEqual([])
    // What is sent at once needs a name.
    expect(await search('pause')).not.toContain(pause)
    await call(pauseIntegration, { integration_id: integration })
    expect(await search('pause desk')).toEqual([])
    expect(await search('resume desk')).toEqual([pause])
    expect(await search('resume')).not.toContain(pause)
    await call(resumeIntegration, { integration_id: integration })
    expect(await search('retry desk')).toEqual([`/console/integrations/${integration}#recover`])
    expect((await search('revoke assistant.example')).join()).toMatch(
      /^\/console\/agents\/grt_\w+#disconnect$/,
    )
    expect(await search('approve next')).toEqual(['/console/proposals/next'])
    expect((await owner.open('/console/proposals/next')).text).toContain(
      'No proposal waits for your approval.',
    )
    expect((await owner.open('/console/members?invite=admin')).form('Invite').value('role')).toBe('admin')
    expect((await owner.open('/console/members?invite=god')).form('Invite').value('role')).toBe('viewer')
    for (const q of ['invite', 'pause desk', 'retry desk', 'run shop', 'approve next'])
      expect(await search(q, viewer)).toEqual([])
    // Its newest finding, and checks that fail, by the name of the app.
    await call(createCheck, { alias, name: 'Health', definition: { kind: 'logs', pattern: 'x' } })
    expect(await search('incident')).toEqual([])
    await system!.db.update(checks).set({ state: 'fail' }).where(eq(checks.orgId, org.id))
    const [incident] = await search('health')
    expect(incident).toMatch(/^\/console\/apps\/[^/]+\/incidents\/chk_\w+$/)
    const front = await owner.open('/console')
    expect(cardOf(front, 'Needs your attention')).toContain('“Health” is failing A check of The shop.')
    expect(linksOf(front)).toContain(incident)
    expect((await owner.open('/console/search?q=dlv_0000000000000000000000000')).text).toContain(
      'Nothing found',
    )
    expect((await owner.open(`/console/search?q=${encodeURIComponent('"><script>')}`)).html).not.toContain(
      '"><script>',
    )
    for (const q of ['x'.repeat(5_000), encodeURIComponent('💥%_\\')]) {
      expect((await owner.open(`/console/search?q=${q}`)).status).toBe(200)
    }
    const options = await owner.open('/console/search?part=options&q=shop')
    expect(options.html).not.toContain('<html')
    const ids = [...options.html.matchAll(/ id="([^"]+)"/g)].map(([, one]) => one)
    expect(new Set(ids).size).toBe(ids.length)
    expect(options.html).toContain('role="option"')
    expect((await owner.open('/console/search?part=options&q=nothing-is-called-this')).text).toContain(
      'Nothing found.',
    )
  })
})

describe('connecting an assistant', () => {
  const PATH = '/console/connect'
  const pick = (id: string) => `${PATH}?assistant=${id}`

  test('one is picked, and told of this server; every copy button has its own text', async () => {
    const { viewer, org, call } = await scene(open)
    const all = await viewer.open(PATH)
    expect(linksOf(all)).toEqual(expect.arrayContaining(['/console/agents', '/console/activity']))
    for (const { id, name } of [...ASSISTANTS, { id: 'token', name: 'API token' }]) {
      expect(linksOf(all).some((href) => href.startsWith(`${pick(id)}&since=`))).toBe(true)
      const page = await viewer.open(pick(id))
      if (id !== 'token') expect(page.html).toContain(`>${name}</h2>`)
      const ids = [...page.html.matchAll(/ id="([^"]+)"/g)].map(([, one]) => one)
      expect(new Set(ids).size).toBe(ids.length)
      const copied = [...page.html.matchAll(/data-copy="([^"]+)"/g)].map(([, one]) => one)
      expect(copied.filter((one) => !ids.includes(one))).toEqual([])
    }
    const code = await viewer.open(pick('claude-code'))
    expect(code.text).toContain('claude mcp add --transport http svc https://mcp.example.com/platform')
    expect(code.text).not.toContain('codex mcp add')
    for (const [id, scheme] of [
      ['claude', 'https://claude.ai/'],
      ['chatgpt', 'https://chatgpt.com/'],
      ['cursor', 'cursor://'],
      ['vs-code', 'vscode:'],
    ] as const) {
      expect(linksOf(await viewer.open(pick(id))).some((href) => href.startsWith(scheme))).toBe(true)
    }
    const token = await viewer.open(pick('token'))
    expect(linksOf(token)).toContain('/console/settings/tokens/new?audience=platform')
    expect(token.text).toContain('Authorization: Bearer $SVC_TOKEN')
    expect(token.text).toContain('an admin can create a machine agent')
    expect((await viewer.open(pick('nobody'))).status).toBe(200)
    expect(all.text).not.toContain('Agents are turned off')
    await call(updateOrganization, { org_id: org.id, agents_enabled: false })
    expect((await viewer.open(PATH)).text).toContain('Agents are turned off')
  })

  test('on this computer only, assistants of the web are said to be out of reach', async () => {
    const { viewer } = await scene()
    expect((await viewer.open(PATH)).text).toContain('This server is only reachable from this computer')
    for (const id of ['claude', 'chatgpt']) {
      const page = await viewer.open(pick(id))
      expect(linksOf(page).filter((href) => /claude\.ai|chatgpt\.com/.test(href))).toEqual([])
      expect(page.text).toContain(id === 'claude' ? 'mcp-remote' : 'cannot reach this server')
    }
    expect((await viewer.open(pick('codex'))).text).toContain('codex mcp add svc --url http')
  })

  test('the first call is waited for, then approved, then there; the part for the script says the same', async () => {
    const { viewer, viewing, org, addGrant, addCall } = await scene(open)
    const since = Math.floor(open!.clock.now().getTime() / 1000)
    const path = `${pick('codex')}&since=${since}`
    const page = await viewer.open(path)
    expect(page.text).toContain('Waiting for your approval Waiting for its first call')
    const part = /data-refresh="([^"]+)"/.exec(page.html)![1]!.replaceAll('&amp;', '&')
    // A colleague's is not theirs.
    await addGrant(org.owner, { lastUsedAt: open!.clock.now() })
    const earlier = new Date((since - 3_600) * 1_000)
    await addGrant(viewing, { createdAt: earlier, lastUsedAt: open!.clock.now() })
    expect((await viewer.open(path)).html).not.toContain('data-final')
    const codex = {
      clientKind: 'dynamic',
      clientId: unique('dyn'),
      clientName: 'Codex',
      redirectHost: '127.0.0.1',
    }
    const id = await addGrant(viewing, codex)
    expect((await viewer.open(path)).text).toContain(
      'You approved “Codex” (127.0.0.1) Waiting for its first call',
    )
    for (const wrong of ['', 'x', '-1', '99999999999', '9'.repeat(40)]) {
      expect((await viewer.open(`${pick('codex')}&since=${wrong}`)).text).toContain('You approved')
    }
    await open!.db
      .update(platformAccessGrants)
      .set({ lastUsedAt: open!.clock.now() })
      .where(eq(platformAccessGrants.id, id))
    const done = await viewer.open(path)
    expect(done.text).toContain('“Codex” (127.0.0.1) is connected.')
    expect(linksOf(done)).toContain(`/console/agents/${id}`)
    const piece = await viewer.open(part)
    expect(piece.html).toContain('data-final')
    expect(piece.html).not.toContain('<html')
    // With a token it is a call that belongs to no agent.
    const byToken = `${pick('token')}&since=${since}`
    await addCall(0, { entryPoint: 'mcp', grantId: id }, viewing)
    expect((await viewer.open(byToken)).html).not.toContain('data-final')
    await addCall(0, { entryPoint: 'mcp', type: 'function', name: 'whoami' }, viewing)
    expect((await viewer.open(byToken)).html).toContain('data-final')
  })
})
