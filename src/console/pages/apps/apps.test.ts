import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { SEEDED_TICKET } from '../../../../test/support/fake-apps.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['apps']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  fake = client.gateway.apps
})

const SHOP = '/console/apps/shop'
const [TICKETS, PEOPLE] = [`${SHOP}/tickets`, `${SHOP}/people`]
const TICKET = `${TICKETS}/${SEEDED_TICKET}`
const TABS = [
  ['', 'Overview'],
  ['/source', 'Source'],
  ['/deployments', 'Deployments'],
  ['/logs', 'Logs'],
  ['/checks', 'Checks'],
  ['/pipelines', 'Pipelines'],
  ['/maintenance', 'Maintenance'],
  ['/tickets', 'Tickets'],
  ['/people', 'People'],
] as const
const shop = () => fake.data.apps.find(({ alias }) => alias === 'shop')!
const ticket = () => fake.data.tickets.find(({ id }) => id === SEEDED_TICKET)!

describe('the list of apps', () => {
  test('links to each, with one’s part and what is open', async () => {
    const page = await client.read('/console/apps')
    expect(page).toContain(`href="${SHOP}"`)
    expect(page).toContain('Administrator')
    expect(page).toMatch(/data-label="Open tickets"><div class="cell">2</)
  })

  test('filters, and says so when nothing matches', async () => {
    const page = await client.read('/console/apps?search=bill')
    expect(page).toContain('Invoices and reminders')
    expect(page).not.toContain(`href="${SHOP}"`)
    expect(await client.read('/console/apps?search=nothing')).toContain('No matching apps')
    expect(await client.read('/console/apps?mine=true')).not.toContain('Invoices and reminders')
  })

  test('makes an app, and keeps what was typed when it is refused', async () => {
    const made = await client.post('/console/apps', { alias: 'intranet', name: 'Intranet' })
    expect(made.headers.get('location')).toBe('/console/apps/intranet')
    const refused = await client.post('/console/apps', { alias: 'Not An Alias', name: 'Kept' })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('value="Kept"')
    expect(page).toContain('aria-invalid="true"')
  })

  test('offers making one to developers and above only', async () => {
    for (const [role, offered] of [
      ['viewer', false],
      ['developer', true],
    ] as const) {
      const page = await (await signedIn({ role })).read('/console/apps')
      expect([role, page.includes('Create app')]).toEqual([role, offered])
    }
  })
})

describe('one app', () => {
  test('has tabs, the current one marked, and a title of its own for each', async () => {
    for (const [path, label] of TABS) {
      const page = await client.read(SHOP + path)
      const tabs = page.slice(
        page.indexOf('<nav class="tabs"'),
        page.indexOf('</nav>', page.indexOf('<nav class="tabs"')),
      )
      expect(Array.from(tabs.matchAll(/href="([^"]+)"/g), ([, href]) => href)).toEqual(
        TABS.map(([each]) => SHOP + each),
      )
      expect(tabs).toMatch(new RegExp(`href="${SHOP}${path}" aria-current="page">${label}`))
      expect(page).toContain(`<title>${label} · The shop · `)
    }
  })

  test('source and logs are for developers and whoever works on it, and never for support staff', async () => {
    const viewer = await signedIn({ role: 'viewer' })
    seed(viewer.gateway)
    const seen = viewer.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!
    seen.my_role = null
    for (const path of ['/source', '/logs']) {
      expect(await viewer.read(SHOP)).not.toContain(`href="${SHOP}${path}"`)
      expect((await viewer.get(SHOP + path)).status).toBe(404)
    }
    seen.my_role = 'builder'
    expect(await viewer.read(SHOP)).toContain(`href="${SHOP}/logs"`)
  })

  test('links to the lists that were once on its front page still lead to them', async () => {
    for (const [earlier, now] of [
      ['?status=in_progress', '/tickets?status=in_progress'],
      ['?person=grace', '/people?person=grace'],
    ] as const)
      expect((await client.get(SHOP + earlier)).headers.get('location')).toBe(SHOP + now)
  })

  test('those who only look get no buttons to change it', async () => {
    expect(await client.read(PEOPLE)).toContain('Add to app')
    shop().my_role = null
    const page = (await client.read(PEOPLE)) + (await client.read(SHOP))
    expect(page).toContain('Edsger Dijkstra')
    for (const words of ['Add to app', 'Save name', 'Manage Edsger']) expect(page).not.toContain(words)
  })

  test('filters tickets by state', async () => {
    const page = await client.read(`${TICKETS}?status=in_progress`)
    expect(page).toContain('Search finds nothing on Sundays')
    expect(page).not.toContain(TICKET)
    expect(await client.read(`${TICKETS}?status=done`)).toContain('No tickets with this status')
    expect(await client.read(`${TICKETS}?status=nonsense`)).toContain(TICKET)
  })

  test('puts people on it, changes their part and takes them off', async () => {
    const grace = client.gateway.data.members[1]!.user_id
    await client.post(`${SHOP}/members`, { user_id: grace, role: 'maintainer' })
    expect(shop().members.at(-1)).toMatchObject({ user_id: grace, role: 'maintainer' })
    await client.post(`${SHOP}/members/${grace}`, { role: 'builder' })
    expect(shop().members.at(-1)).toMatchObject({ role: 'builder' })
    await client.post(`${SHOP}/members/${grace}/remove`)
    expect(shop().members.some(({ user_id }) => user_id === grace)).toBe(false)
  })

  test('shows the service accounts that report about it and their pods, and lets admins bind and remove them', async () => {
    const bound = () => client.gateway.appOverview.data.serviceAccounts
    const page = await client.read(PEOPLE)
    expect(page).toContain('shop/worker')
    expect(page).toContain('worker-6c9f7d-x2x7p')
    const form = await client.read(`${SHOP}/service-accounts/new`)
    expect(form).toContain('audience: &quot;svc-control-plane&quot;')
    const account = { namespace: 'shop', service_account: 'nightly' }
    expect((await client.post(`${SHOP}/service-accounts/new`, account)).status).toBe(303)
    expect(bound()[0]).toMatchObject(account)
    await client.post(`${SHOP}/service-accounts/${bound()[0]!.id}/remove`)
    expect(bound().map(({ service_account }) => service_account)).toEqual(['worker'])
    const wrong = { namespace: 'Shop', service_account: 'nightly' }
    const refused = await client.post(`${SHOP}/service-accounts/new`, wrong)
    expect([refused.status, (await refused.text()).includes('value="Shop"')]).toEqual([400, true])
  })

  test('says nothing of service accounts where workload identity is off and none is bound', async () => {
    Object.assign(client.gateway.appOverview.data, { serviceAccounts: [], audience: null })
    expect(await client.read(PEOPLE)).not.toContain('Service accounts')
  })

  test('is renamed', async () => {
    await client.post(`${SHOP}/name`, { name: 'The store' })
    expect(await client.read(SHOP)).toContain('App renamed to The store.')
    expect((await client.post(`${SHOP}/name`, { name: '' })).status).toBe(400)
  })

  test('that does not exist is a page that says so', async () => {
    expect((await client.get('/console/apps/nothing')).status).toBe(404)
  })
})

describe('a ticket', () => {
  test('is filed, with its line breaks as they were typed', async () => {
    const filed = await client.post(`${SHOP}/tickets/new`, { title: 'It broke', body: 'One\r\ntwo' })
    expect(filed.status).toBe(303)
    expect(fake.data.tickets[0]).toMatchObject({ title: 'It broke', body: 'One\ntwo' })
    const refused = await client.post(`${SHOP}/tickets/new`, { title: '', body: 'Kept' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('Kept</textarea>')
  })

  test('shows what was said in its order, and marks notes', async () => {
    const page = await client.read(TICKET)
    expect(page.indexOf('Which browser')).toBeLessThan(page.indexOf('The one on the tablet'))
    expect(page).toMatch(/message-note[\s\S]*Looks like the cookie/)
  })

  test('is answered aloud or by a note', async () => {
    await client.post(TICKET, { body: 'Repaired.' })
    await client.post(TICKET, { body: 'Hm.', internal: 'yes' })
    expect(ticket().replies.slice(-2)).toMatchObject([
      { body: 'Repaired.', internal: false },
      { body: 'Hm.', internal: true },
    ])
    expect((await client.post(TICKET, { body: ' ' })).status).toBe(400)
  })

  test('offers notes and taking it in progress only to those who work on the app', async () => {
    expect(await client.read(TICKET)).toContain('Start progress')
    shop().my_role = null
    const page = await client.read(TICKET)
    for (const words of ['Start progress', 'name="internal"']) expect(page).not.toContain(words)
    expect(page).toContain('Mark as done')
  })

  test('moves', async () => {
    await client.post(`${TICKET}/status`, { status: 'done' })
    expect(ticket().status).toBe('done')
    expect(await client.read(TICKET)).toContain('Reopen')
  })
})

describe('the front page of an app', () => {
  const overview = () => client.gateway.appOverview.data

  test('says what runs and by whom, which check fails, how many errors there were, and the last deployments', async () => {
    const page = (await client.read(SHOP)).replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
    expect(page).toMatch(/Running rev_…[0-9a-z]{6} .* by Ada Lovelace/)
    expect(page).toContain('1 failing of 2')
    expect(page).toMatch(/Errors in 7 days \d+ of \d+ lines/)
    expect(page).toMatch(/Last deployments .* Succeeded .* Failed/)
    expect(page).toContain('Next ')
  })

  type Check = ReturnType<typeof overview>['checks'][number]
  test.each<[states: readonly Partial<Check>[], says: string]>([
    [[], 'Checks None'],
    [[{ state: 'pass' }, { state: 'pass' }], '2 passing of 2'],
    [[{ state: null }, { state: null }], 'No results yet of 2, 2 pending'],
    [[{ state: 'pass', paused: 'disabled' }], 'None running of 1, 1 paused'],
    [[{ state: 'pass' }, { state: 'fail', paused: 'maintenance_window' }], '1 passing of 2, 1 paused'],
    [[{ state: 'pass' }, { state: 'error' }, { state: 'indeterminate' }], '2 not passing of 3'],
    [[{ state: 'fail' }, { state: 'error' }, { state: null }], '1 failing of 3, 1 pending'],
  ])('counts checks by what is known of them: %j', async (states, says) => {
    const [one] = overview().checks
    overview().checks = states.map((state) => ({ ...one!, paused: null, ...state }))
    const page = (await client.read(SHOP)).replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
    expect(page).toContain(says)
  })

  test('of an app without anything gives the command that fills it', async () => {
    Object.assign(overview(), { checks: [], pipelines: [], buckets: [] })
    client.gateway.appSource.data.deployments = []
    expect(await client.read(SHOP)).toContain('svc apps push shop --deploy')
    shop().my_role = null
    expect(await client.read(SHOP)).not.toContain('svc apps push')
  })

  test('asks for no logs where the reader may read none, and shows tokens to those who work on it', async () => {
    const viewer = await signedIn({ role: 'viewer' })
    seed(viewer.gateway)
    viewer.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
    const page = await viewer.read(SHOP)
    expect(page).toContain('Last deployments')
    for (const words of ['Errors in 7 days', 'Log lines', 'Tokens']) expect(page).not.toContain(words)
    expect(viewer.gateway.data.seen.join()).not.toMatch(/logs\/summary|apps\/shop\/tokens/)
    expect((await viewer.get(`${SHOP}/tokens/new`)).status).toBe(403)
  })

  test('creates tokens whose value is shown once, and revokes them', async () => {
    for (const [scope, words] of [
      ['apps:report', 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://localhost:4000/v1/logs'],
      ['apps:run', 'svc apps runner shop --exec ./deploy.sh'],
    ] as const) {
      const made = await client.post(`${SHOP}/tokens/new`, { name: 'Web', scope })
      const page = await made.text()
      expect([made.status, page.includes(words), page.includes('SVC_API_KEY=svca_')]).toEqual([
        201,
        true,
        true,
      ])
      expect(overview().tokens[0]).toMatchObject({ name: 'Web', scope })
    }
    expect(await client.read(SHOP)).not.toContain('svca_7Gh2m')
    await client.post(`${SHOP}/tokens/${overview().tokens[0]!.id}/revoke`)
    expect(overview().tokens.map(({ name }) => name)).toEqual(['Web', 'Production'])
    const refused = await client.post(`${SHOP}/tokens/new`, { name: '', scope: 'apps:run' })
    expect([refused.status, (await refused.text()).includes('New runner token')]).toEqual([400, true])
  })
})
