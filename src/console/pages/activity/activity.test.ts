import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { chartDays, withEmptyDays } from './activity-charts.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}

const PATH = '/console/activity'
const QUESTIONS = `${PATH}?type=data_source`
const FUNCTIONS = `${PATH}?type=function`
const textOf = (page: string): string =>
  page
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
/** The list itself: the charts hold a table too. */
const rowsOf = (page: string): string[] =>
  [...(page.split('card card-list')[1] ?? '').matchAll(/<tr role="row">.*?<\/tr>/gs)]
    .map(([row]) => textOf(row))
    .slice(1)

describe('the activity list', () => {
  test('opens with questions; functions are the other tab, and each says how many', async () => {
    const client = await seeded()
    const page = await client.read(PATH)
    expect(rowsOf(page)).toHaveLength(50)
    const all = client.gateway.sources.data.activity
    const count = all.filter(({ type }) => type === 'data_source').length
    expect(textOf(/<nav class="tabs".*?<\/nav>/s.exec(page)?.[0] ?? '')).toBe(
      ` Questions ${count} Functions 1 `,
    )
    const functions = rowsOf(await client.read(FUNCTIONS))
    expect(functions).toHaveLength(1)
    expect(functions[0]).toContain('whoami')
  })

  test('the other tab keeps the filters, but not the data source and not the page', async () => {
    const client = await seeded()
    const page = await client.read(`${QUESTIONS}&source=db_handbook&via=mcp&cursor_page=2`)
    const functions = /href="([^"]*type=function[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
    expect(functions).toBe('/console/activity?type=function&via=mcp')
    expect(rowsOf(await client.read(functions!))).toHaveLength(1)
  })

  test('by agent, which has a name and a page, and by where calls came in', async () => {
    const client = await seeded()
    const [grant, , other] = client.gateway.data.grants
    const page = await client.read(`${QUESTIONS}&agent=${grant!.id}`)
    expect(page).toContain(`<option value="${other!.id}"`)
    expect(textOf(page)).toContain('assistant.example (“Assistant”), Ada Lovelace')
    const rows = rowsOf(page)
    expect(rows.length).toBeGreaterThan(5)
    expect(rows.every((row) => row.includes('assistant.example mcp'))).toBe(true)
    expect(page).toContain(`<a href="/console/agents/${grant!.id}">`)
    const scripts = rowsOf(await client.read(`${QUESTIONS}&via=api`))
    expect(scripts.length).toBeGreaterThan(5)
    expect(scripts.every((row) => row.includes(' None api '))).toBe(true)
  })

  test('a row says when, who, which source, via what, its outcome, how long and how large', async () => {
    const client = await signedIn()
    const { sources, org } = client.gateway
    sources.addActivity(org.id, 0.1)
    sources.addActivity(org.id, 0.2, {
      name: null,
      source: 'mcp',
      client_id: 'https://assistant.example/oauth/client.json',
      outcome: 'refused',
      error: 'NOT_FOUND',
      duration_ms: 1_240,
      answer_bytes: 0,
      hits: null,
    })
    const [answered, refused] = rowsOf(await client.read(QUESTIONS))
    expect(answered).toContain(
      '15 Nov 2026, 09:36 UTC db_handbook Ada Lovelace None api answered 10 hits 41 ms 38 B → 5.1 KiB',
    )
    expect(refused).toContain('None Ada Lovelace assistant.example mcp refused NOT_FOUND 1.2 s 38 B → 0 B')
  })

  test('owners and admins see everybody and choose a person; others see their own', async () => {
    const admin = await seeded({ role: 'admin' })
    const page = await admin.read(QUESTIONS)
    expect(page).toContain('name="person"')
    expect(rowsOf(page).join()).toContain('Grace Hopper')
    const grace = admin.gateway.data.members.find(({ name }) => name === 'Grace Hopper')
    const hers = rowsOf(await admin.read(`${QUESTIONS}&person=${grace?.user_id}`))
    expect(hers.length).toBeGreaterThan(0)
    expect(hers.every((row) => row.includes('Grace Hopper'))).toBe(true)
    for (const role of ['viewer', 'developer'] as const) {
      const client = await seeded({ role })
      // The filter of an address that an admin passed on is left out, not refused.
      const own = await client.read(`${QUESTIONS}&person=${grace?.user_id}`)
      expect(own).not.toContain('name="person"')
      expect(own).not.toContain('Grace Hopper')
      expect(rowsOf(own).length).toBeGreaterThan(0)
      expect(client.gateway.data.seen).not.toContain('listMembers')
    }
  })

  test('builders choose a source from the list, others type it', async () => {
    const developer = await (await seeded({ role: 'developer' })).read(QUESTIONS)
    expect(developer).toContain('<option value="db_tickets"')
    const viewer = await (await seeded({ role: 'viewer' })).read(`${QUESTIONS}&source=db_gone`)
    expect(viewer.replaceAll(/\s+/g, ' ')).toContain('name="source" type="text" value="db_gone"')
    expect(viewer).not.toContain('db_tickets')
    expect(rowsOf(viewer)).toEqual([])
  })

  test('filters by outcome and day, and the next page keeps them', async () => {
    const client = await seeded()
    const refused = rowsOf(await client.read(`${QUESTIONS}&outcome=refused&from=2026-11-10&to=2026-11-13`))
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.every((row) => / 1[0-3] Nov 2026,.* refused RATE_LIMITED /.test(row))).toBe(true)
    const page = await client.read(`${QUESTIONS}&outcome=answered`)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('type=data_source&outcome=answered&cursor=')
    expect(rowsOf(await client.read(next)).every((row) => row.includes('answered'))).toBe(true)
  })

  test('nonsense in the address is left out', async () => {
    const client = await seeded()
    const response = await client.get(
      `${PATH}?type=x&outcome=y&person=z&agent=a&via=b&from=2026-02-31&to=0000-01-01&source=${'a'.repeat(80)}`,
    )
    expect(response.status).toBe(200)
    expect(rowsOf(await response.text())).toHaveLength(50)
    expect((await client.get(`${QUESTIONS}&from=2026-11-15&to=2026-11-01`)).status).toBe(200)
  })

  test('says that no words are kept', async () => {
    expect(await (await seeded()).read(PATH)).toContain(
      'Questions and answers are never stored, only sizes and digests.',
    )
  })

  test('empty lists say what to do next', async () => {
    const client = await signedIn()
    expect(await client.read(FUNCTIONS)).toContain('No function calls yet')
    expect(await client.read(QUESTIONS)).toContain('No questions yet')
    expect(await client.read(`${QUESTIONS}&outcome=failed`)).toContain('No activity found')
  })

  test('another organization’s rows are not there, and names are text', async () => {
    const client = await seeded()
    const other = client.gateway.data.organizations.find(({ name }) => name === 'Fabrikam')
    client.gateway.sources.addActivity(other?.id ?? '', 0.01, { name: 'db_theirs' })
    client.gateway.sources.addActivity(client.gateway.org.id, 0.01, {
      user: { id: client.gateway.data.me.id, name: '<script>alert(1)</script>' },
      client_id: '"><script>alert(2)</script>',
    })
    const page = await client.read(QUESTIONS)
    expect(page).not.toContain('db_theirs')
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})

describe('the charts', () => {
  const now = new Date('2026-11-15T12:00:00Z')

  test('cover the last 30 days, or the last 30 of what is filtered', () => {
    const days = chartDays(undefined, undefined, now)
    expect([days.length, days[0], days.at(-1)]).toEqual([30, '2026-10-17', '2026-11-15'])
    expect(chartDays('2026-11-13', undefined, now)).toEqual(['2026-11-13', '2026-11-14', '2026-11-15'])
    expect(chartDays('2020-01-01', '2026-03-01', now).at(0)).toBe('2026-01-31')
    expect(chartDays('2026-11-15', '2026-11-01', now)).toEqual([])
  })

  test('a day without calls is a day', () => {
    const counted = { day: '2026-11-14', answered: 2, refused: 1, failed: 0, questions: 3 }
    expect(withEmptyDays(['2026-11-13', '2026-11-14'], [counted])).toEqual([
      { day: '2026-11-13', answered: 0, refused: 0, failed: 0, questions: 0 },
      counted,
    ])
  })

  test('say their numbers in words and in a table', async () => {
    const client = await signedIn()
    const { sources, org } = client.gateway
    for (const days of [0.1, 0.2, 0.3, 2]) sources.addActivity(org.id, days)
    sources.addActivity(org.id, 2, { outcome: 'refused', error: 'RATE_LIMITED' })
    const page = await client.read(QUESTIONS)
    expect(page).toContain(
      'aria-label="Questions per day, 17 Oct to 15 Nov: 4 answered, 1 refused, 0 failed; most on 15 Nov with 3."',
    )
    expect(page).toContain('aria-label="Share refused: 20%, 1 of 5; 0 failed."')
    expect(page).toContain('<title>13 Nov: 1 answered, 1 refused, 0 failed</title>')
    expect(textOf(page)).toContain('2026-11-13 1 1 0')
    expect(page.match(/<title>\d/g)).toHaveLength(30)
    expect(page).not.toContain('style=')
  })

  test('nothing to draw draws nothing', async () => {
    const page = await (await signedIn()).read(QUESTIONS)
    expect(page).not.toContain('role="img"')
  })
})
