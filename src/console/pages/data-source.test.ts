import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../test/support/console-visitor.ts'
import { furnish } from '../../../test/support/fake-gateway.ts'
import { queryDataSource } from '../../contracts/data-sources.ts'
import { ERRORS, ServiceError } from '../../contracts/errors.ts'

const settled = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const visitor = await signedIn(options)
  furnish(visitor.gateway)
  const { sources } = visitor.gateway
  const source = (id: string) => sources.data.sources.find(({ source_id }) => source_id === id)!
  return { ...visitor, sources: sources.data, source }
}

const PATH = '/console/data-sources'
const HANDBOOK = `${PATH}/db_handbook`
const wordsOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)]
    .map(([, action]) => action ?? '')
    .filter((action) => action.startsWith(PATH))
    .map((action) => action.replace(/^.*\/db_[a-z]+/, ''))

describe('the page of a data source', () => {
  test('the search configuration is readable, as a document, and as the command that replaces it', async () => {
    const page = await (await settled({ role: 'developer' })).read(HANDBOOK)
    const words = wordsOf(page)
    expect(words).toContain('Pages hybrid fetchable')
    expect(words).toContain('minilm-l6-v2 , 384 dimensions in embedding')
    expect(words).toContain('id the id title the title body team updated')
    expect(words).toContain('team string year number draft boolean')
    expect(words).toContain('inner product')
    expect(page).toContain('curl -X PUT http://localhost:4000/api/wf/data-sources/db_handbook')
    const document = /<code id="document">([^<]*)<\/code>/.exec(page)?.[1]?.replaceAll('&quot;', '"') ?? ''
    expect(JSON.parse(document)).toMatchObject({ filter_schema: { team: 'string' } })
  })

  /** Whoever named a column could otherwise have a command run on the machine of whoever copies the line. */
  test('nothing in the configuration leaves the here-document of the command', async () => {
    const visitor = await settled()
    visitor.source('db_handbook').filter_schema = { "x'\nJSON\nrm -rf ~ #$(id)`id`": 'string' }
    const page = await visitor.read(HANDBOOK)
    const line = /<code id="configure">([^<]*)<\/code>/.exec(page)?.[1] ?? ''
    expect(line.split('\n').filter((one) => one === 'JSON')).toHaveLength(1)
    expect(line.endsWith('\nJSON')).toBe(true)
    expect(line).toContain('&lt;&lt;&#39;JSON&#39;')
  })

  test.each([
    ['owner', 'db_handbook', ['/ask#answer', '/exposure', '/exposure', '/state', '', '/connection']],
    ['admin', 'db_tickets', ['/exposure', '/state', '', '/connection']],
    ['admin', 'db_warehouse', ['/state', '']],
    ['admin', 'db_drafts', ['']],
    ['developer', 'db_handbook', ['/ask#answer', '', '/connection']],
    ['developer', 'db_salaries', ['', '/connection']],
    ['viewer', 'db_handbook', ['/ask#answer']],
  ] as const)('an %s finds at %s the forms they may send', async (role, id, forms) => {
    const page = await (await settled({ role })).read(`${PATH}/${id}`)
    expect(formsOf(page)).toEqual(forms)
    expect(page.includes('/remove"')).toBe(role === 'owner' || role === 'admin')
  })

  test.each(['db_salaries', 'db_tickets', 'db_unknown', 'ds_unknown', 'nonsense'])(
    'a viewer finds nothing at %s, as where there is nothing',
    async (id) => {
      const visitor = await settled({ role: 'viewer' })
      const response = await visitor.get(`${PATH}/${id}`)
      expect(response.status).toBe(404)
      expect(await response.text()).toContain('There is nothing here')
    },
  )

  test('a developer below the minimum role is told why there is nothing to try', async () => {
    const page = await (await settled({ role: 'developer' })).read(`${PATH}/db_salaries`)
    expect(page).toContain('Only admins and above may ask this source')
  })

  test('name and description are saved, or come back with the reason', async () => {
    const visitor = await settled({ role: 'developer' })
    const saved = await visitor.post(HANDBOOK, { name: 'Our handbook', description: 'New words.' })
    expect(saved.headers.get('location')).toBe(HANDBOOK)
    expect(visitor.source('db_handbook')).toMatchObject({ name: 'Our handbook', description: 'New words.' })
    const refused = await visitor.post(HANDBOOK, { name: '', description: 'Kept <words>' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('Kept &lt;words&gt;</textarea>')
  })

  test('a viewer’s forged form changes nothing', async () => {
    const visitor = await settled({ role: 'viewer' })
    const before = structuredClone(visitor.sources.sources)
    expect((await visitor.post(HANDBOOK, { name: 'Mine' })).status).toBe(403)
    expect((await visitor.post(`${HANDBOOK}/connection`)).status).toBe(403)
    expect((await visitor.post(`${HANDBOOK}/remove`, { confirm: 'handbook' })).status).toBe(403)
    await visitor.post(`${HANDBOOK}/state`, { state: 'off' })
    await visitor.post(`${HANDBOOK}/exposure`, { exposed: 'no' })
    expect(visitor.sources.sources).toEqual(before)
  })

  test('a form sent from another site changes nothing', async () => {
    const visitor = await settled()
    for (const path of ['', '/ask', '/state', '/exposure', '/connection', '/remove']) {
      const response = await visitor.post(`${HANDBOOK}${path}`, {}, { origin: 'https://evil.example' })
      expect(response.status).toBe(403)
      const withoutToken = await visitor.post(`${HANDBOOK}${path}`, { form_token: 'x' })
      expect(withoutToken.status).toBe(403)
    }
  })

  test('a form acts in the organization it was shown for', async () => {
    const visitor = await settled()
    const shownFor = visitor.gateway.org.id
    const other = visitor.gateway.data.organizations.find(({ name }) => name === 'Contoso Labs')!
    visitor.gateway.sources.add(other.id, 'handbook', { enabled: true, exposed: true })
    visitor.gateway.data.chosen = other.id
    await visitor.post(`${HANDBOOK}/state`, { state: 'off', organization: shownFor })
    const [ours, theirs] = [shownFor, other.id].map((org) =>
      visitor.sources.sources.find((one) => one.org === org && one.source_id === 'db_handbook'),
    )
    expect(ours?.enabled).toBe(false)
    expect(theirs?.enabled).toBe(true)
  })
})

describe('exposure', () => {
  test('on, exposed from a role on, hidden, off', async () => {
    const visitor = await settled({ role: 'admin' })
    const path = `${PATH}/db_warehouse`
    await visitor.post(`${path}/state`, { state: 'on' })
    expect(await visitor.read(path)).toContain('Switched on. Expose it to let people ask.')
    await visitor.post(`${path}/exposure`, { exposed: 'yes', minimum_role: 'developer' })
    expect(visitor.source('db_warehouse')).toMatchObject({ exposed: true, minimum_role: 'developer' })
    expect(await visitor.read(path)).toContain('Exposed to developers and above.')
    await visitor.post(`${path}/exposure`, { exposed: 'no' })
    expect(visitor.source('db_warehouse')).toMatchObject({ exposed: false, minimum_role: 'developer' })
    await visitor.post(`${path}/state`, { state: 'off' })
    expect(visitor.source('db_warehouse').enabled).toBe(false)
  })

  test('the page says what the minimum role does not do', async () => {
    expect(await (await settled()).read(HANDBOOK)).toContain(
      'The minimum role does not protect the database itself: members who already reach the database through database tools or the connect command still can.',
    )
  })

  test('a role that does not exist exposes nothing', async () => {
    const visitor = await settled()
    await visitor.post(`${PATH}/db_tickets/exposure`, { exposed: 'yes', minimum_role: 'everybody' })
    expect(visitor.source('db_tickets').exposed).toBe(false)
    expect(await visitor.read(`${PATH}/db_tickets`)).toContain('Choose a minimum role')
  })

  test('where there is no room, and where it is off, the page says what to do', async () => {
    const visitor = await settled()
    visitor.sources.exposedMax = 2
    await visitor.post(`${PATH}/db_tickets/exposure`, { exposed: 'yes', minimum_role: 'viewer' })
    expect(await visitor.read(`${PATH}/db_tickets`)).toContain(
      'Hide or switch off one that is no longer asked',
    )
    await visitor.post(`${PATH}/db_warehouse/exposure`, { exposed: 'yes', minimum_role: 'viewer' })
    expect(await visitor.read(`${PATH}/db_warehouse`)).toContain('Switch it on first, then expose it.')
  })
})

describe('the connection string', () => {
  test('stands folded in the answer to the button, and nowhere else', async () => {
    const visitor = await settled({ role: 'developer' })
    expect(await visitor.read(HANDBOOK)).not.toContain('p4ss-w0rd')
    expect(visitor.gateway.data.seen).not.toContain('databases.connection')
    const response = await visitor.post(`${HANDBOOK}/connection`)
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('set-cookie')).toBeNull()
    const page = await response.text()
    const folded = page
      .match(/<details class="more">.*?<\/details>/gs)
      ?.find((one) => one.includes('p4ss-w0rd'))
    expect(folded).toContain('postgres://handbook:p4ss-w0rd-of-the-fake@127.0.0.1:5433/handbook')
    expect(page.replace(folded ?? '', '')).not.toContain('p4ss-w0rd')
    expect(await visitor.read(HANDBOOK)).not.toContain('p4ss-w0rd')
    const again = await visitor.get(`${HANDBOOK}/connection`)
    expect(again.headers.get('location')).toBe(HANDBOOK)
  })

  test('of an attached database there is none, whoever asks', async () => {
    const visitor = await settled()
    const response = await visitor.post(`${PATH}/db_warehouse/connection`)
    expect(response.status).toBe(409)
    expect(await response.text()).toContain('is never shown again')
    expect(visitor.gateway.data.seen).not.toContain('databases.connection')
  })
})

describe('removing', () => {
  test('wants the name typed, letter by letter', async () => {
    const visitor = await settled({ role: 'admin' })
    const refused = await visitor.post(`${HANDBOOK}/remove`, { confirm: 'Handbook' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('must be handbook, letter by letter')
    expect(visitor.source('db_handbook')).toBeDefined()
    const removed = await visitor.post(`${HANDBOOK}/remove`, { confirm: 'handbook' })
    expect(removed.headers.get('location')).toBe(PATH)
    expect(await visitor.read(PATH)).toContain('Handbook is gone.')
    expect((await visitor.get(HANDBOOK)).status).toBe(404)
  })

  test('an attached one is only let go', async () => {
    const page = await (await settled()).read(`${PATH}/db_warehouse/remove`)
    expect(page).toContain('Let go of Warehouse?')
    expect(page).toContain('stays where it is')
  })

  test('is for owners and admins', async () => {
    const visitor = await settled({ role: 'developer' })
    expect((await visitor.get(`${HANDBOOK}/remove`)).status).toBe(403)
    expect((await visitor.post(`${HANDBOOK}/remove`, { confirm: 'handbook' })).status).toBe(403)
    expect(visitor.source('db_handbook')).toBeDefined()
  })
})

describe('try it', () => {
  const question = { query: 'When are holidays planned?', target: '', top_k: '5' }

  test('filters are offered by their types', async () => {
    const page = (await (await settled({ role: 'viewer' })).read(HANDBOOK)).replaceAll(/\s+/g, ' ')
    expect(page).toContain('name="filter:team" type="text"')
    expect(page).toContain('name="filter:year" type="number" value="" step="any"')
    expect(page).toContain('<select id="filter-2" name="filter:draft"')
    expect(page).toContain('<option value="Decisions"')
  })

  test('the question goes out as it was asked, and is kept in no address and no cookie', async () => {
    const visitor = await settled({ role: 'viewer' })
    const response = await visitor.post(`${HANDBOOK}/ask`, {
      ...question,
      target: 'Pages',
      'filter:team': 'People',
      'filter:year': '2026',
      'filter:draft': 'false',
      'filter:salary': '1',
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('location')).toBeNull()
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(visitor.sources.questions).toEqual([
      {
        source_id: 'db_handbook',
        query: question.query,
        filters: { team: 'People', year: '2026', draft: 'false' },
        top_k: 5,
        target: 'Pages',
      },
    ])
    const page = await response.text()
    expect(page).toContain('When are holidays planned?</textarea>')
    expect(page).not.toMatch(/href="[^"]*holidays/)
    expect(await visitor.read(HANDBOOK)).not.toContain('holidays planned')
  })

  test('hits come with title, id, score and target; long values are folded; what was cut is said', async () => {
    const visitor = await settled()
    const page = await (await visitor.post(`${HANDBOOK}/ask`, question)).text()
    const words = wordsOf(page)
    expect(words).toMatch(/2 hits in \d+ ms/)
    expect(words).toContain('How we plan holidays 42 score 0.8127 Pages hybrid')
    expect(words).toContain('17 score 0.4405 Decisions reason Days off are counted in half days.')
    expect(words).toContain('The answer was shortened. The value `body` of hit 42 was cut.')
    expect(page).toMatch(/<details class="value-long">\s*<summary>Enter the days/)
    expect(page).toContain('[&quot;time off&quot;,&quot;calendar&quot;]')
    expect(page).not.toContain('signed-handle')
    expect(page).toMatch(/class="score-share" width="56"/)
    expect(page).toMatch(/class="score-share" width="30.4"/)
  })

  test('nothing found is an answer too', async () => {
    const visitor = await settled()
    visitor.sources.answer = { count: 0, results: [] }
    const page = await (await visitor.post(`${HANDBOOK}/ask`, question)).text()
    expect(page).toContain('Nothing was found')
  })

  test('what a database holds is text, whatever it looks like', async () => {
    const visitor = await settled()
    const hostile = '<img src=x onerror=alert(1)>"\'</dd>'
    visitor.sources.answer = {
      count: 1,
      results: [
        { id: hostile, title: hostile, metadata: { [hostile]: hostile.repeat(20), _target: hostile } },
      ],
      truncated: hostile,
    }
    const page = await (await visitor.post(`${HANDBOOK}/ask`, { ...question, query: hostile })).text()
    expect(page).not.toContain('<img')
    expect(page.match(/&lt;img src=x/g)?.length).toBeGreaterThan(20)
  })

  /** `{}['constructor']` is not nothing. */
  test('a filter column may be called anything', async () => {
    const visitor = await settled()
    visitor.source('db_handbook').filter_schema = Object.fromEntries(
      ['constructor', 'toString'].map((column) => [column, 'string']),
    )
    const page = await (await visitor.post(`${HANDBOOK}/ask`, { ...question, 'filter:toString': 'x' })).text()
    expect(page).not.toContain('native code')
    expect(visitor.sources.questions[0]?.filters).toEqual({ toString: 'x' })
  })

  test.each(queryDataSource.errors.filter((code) => code !== 'UNAUTHENTICATED'))(
    '%s is said in words, with what to do, and the question stays',
    async (code) => {
      const visitor = await settled({ role: 'viewer' })
      visitor.sources.answer = new ServiceError(code, undefined, {
        problems: ['filters.year: must be a number'],
        retryAfterSeconds: code === 'QUOTA_EXCEEDED' ? 7 * 3600 : undefined,
      })
      const response = await visitor.post(`${HANDBOOK}/ask`, question)
      expect(response.status).toBe(ERRORS[code].status)
      const page = await response.text()
      const notice = /<div class="notice notice-problem".*?<\/div>\s*<\/div>/s.exec(page)?.[0] ?? ''
      // The message, what is wrong, and what to do.
      expect(notice.match(/<p>/g)?.length).toBeGreaterThanOrEqual(2)
      expect(notice).toContain('filters.year: must be a number')
      if (code === 'QUOTA_EXCEEDED') expect(notice).toContain('Try again in 7 hours.')
      expect(page).toContain('When are holidays planned?</textarea>')
      expect(page).not.toContain('id="answer"')
    },
  )

  test('a source that was hidden meanwhile says so to whoever keeps it, and nothing to whoever asks', async () => {
    const owner = await settled()
    owner.source('db_handbook').exposed = false
    const response = await owner.post(`${HANDBOOK}/ask`, question)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('This data source cannot be asked now')
    const viewer = await settled({ role: 'viewer' })
    viewer.source('db_handbook').exposed = false
    const hidden = await viewer.post(`${HANDBOOK}/ask`, question)
    expect(await hidden.text()).toContain('There is nothing here')
    expect(viewer.sources.questions).toEqual([])
  })

  test('the address an answer leaves behind leads back to the source', async () => {
    const visitor = await settled()
    expect((await visitor.get(`${HANDBOOK}/ask`)).headers.get('location')).toBe(HANDBOOK)
    expect((await visitor.get(`${PATH}/nonsense/ask`)).status).toBe(404)
  })
})
