import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { queryDataSource } from '../../../contracts/data-sources.ts'
import { ERRORS, ServiceError } from '../../../contracts/errors.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  const { sources } = client.gateway
  const source = (id: string) => sources.data.sources.find(({ source_id }) => source_id === id)!
  return { ...client, sources: sources.data, source }
}

const PATH = '/console/data-sources'
const HANDBOOK = `${PATH}/db_handbook`
const SEARCH = `${HANDBOOK}/search`
const ACCESS = `${HANDBOOK}/access`
const DATABASE = `${HANDBOOK}/database`
const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)]
    .map(([, action]) => action ?? '')
    .filter((action) => action.startsWith(PATH))
    .map((action) => action.replace(/^.*\/db_[a-z]+/, ''))

describe('the page of a data source', () => {
  test('the search configuration is readable, as a document, and as the command that replaces it', async () => {
    const page = await (await seeded({ role: 'developer' })).read(SEARCH)
    const words = textOf(page)
    expect(words).toContain('Pages hybrid fetchable')
    expect(words).toContain('minilm-l6-v2 , 384 dimensions in embedding')
    expect(words).toContain('id ID title title body team updated')
    expect(words).toContain('team string year number draft boolean')
    expect(words).toContain('inner product')
    expect(page).toContain('curl -X PUT http://localhost:4000/api/wf/data-sources/db_handbook')
    const document = /<code id="document">([^<]*)<\/code>/.exec(page)?.[1]?.replaceAll('&quot;', '"') ?? ''
    expect(JSON.parse(document)).toMatchObject({ filter_schema: { team: 'string' } })
  })

  /** Whoever named a column could otherwise have a command run on the machine of whoever copies the line. */
  test('nothing in the configuration leaves the here-document of the command', async () => {
    const client = await seeded()
    client.source('db_handbook').filter_schema = { "x'\nJSON\nrm -rf ~ #$(id)`id`": 'string' }
    const page = await client.read(SEARCH)
    const line = /<code id="configure">([^<]*)<\/code>/.exec(page)?.[1] ?? ''
    expect(line.split('\n').filter((one) => one === 'JSON')).toHaveLength(1)
    expect(line.endsWith('\nJSON')).toBe(true)
    expect(line).toContain('&lt;&lt;&#39;JSON&#39;')
  })

  const TABS = ['', '/access', '/search', '/database', '/usage']

  test.each([
    [
      'owner',
      'db_handbook',
      ['/ask#answer', '/exposure', '/exposure', '/state', '/search', '/connection', '/database'],
    ],
    ['admin', 'db_tickets', ['/exposure', '/state', '/search', '/connection', '/database']],
    ['admin', 'db_warehouse', ['/state', '/search', '/database']],
    ['admin', 'db_drafts', ['/search', '/database']],
    ['developer', 'db_handbook', ['/ask#answer', '/search', '/connection', '/database']],
    ['developer', 'db_salaries', ['/search', '/connection', '/database']],
  ] as const)('an %s finds in the tabs of %s the forms they may send', async (role, id, forms) => {
    const client = await seeded({ role })
    const pages = await Promise.all(TABS.map((tab) => client.read(`${PATH}/${id}${tab}`)))
    expect(pages.flatMap(formsOf)).toEqual(forms)
    expect(pages[3]!.includes('/remove"')).toBe(role !== 'developer')
  })

  test('usage says by whom, and not as if the last questions were all', async () => {
    const page = await (await seeded()).read(`${HANDBOOK}/usage`)
    expect(page).toMatch(/<a href="\/console\/agents\/grt_\w+"><bdi[^>]*>assistant\.example/)
    expect(page).not.toContain('in total')
    expect(page).toContain('type=data_source&amp;source=db_handbook&amp;from=2026-10-17')
  })

  test('a viewer has two tabs, and no way into the others', async () => {
    const client = await seeded({ role: 'viewer' })
    const page = await client.read(HANDBOOK)
    expect(formsOf(page)).toEqual(['/ask#answer'])
    const tabs = /<nav class="tabs".*?<\/nav>/s.exec(page)?.[0] ?? ''
    expect(textOf(tabs).trim()).toBe('Ask Usage')
    expect(await client.read(`${HANDBOOK}/usage`)).toContain('Your questions in 30 days')
    for (const tab of ['access', 'search', 'database']) {
      expect((await client.get(`${HANDBOOK}/${tab}`)).status).toBe(403)
    }
  })

  test('one that cannot be asked yet says what is missing, and where that is done', async () => {
    const page = await (await seeded()).read(`${PATH}/db_tickets`)
    expect(textOf(page)).toContain('Save a search configuration , done')
    expect(page).toContain(`href="${PATH}/db_tickets/access"`)
    expect(textOf(await (await seeded()).read(`${PATH}/db_warehouse`))).toContain('Open Search')
  })

  test.each(['db_salaries', 'db_tickets', 'db_unknown', 'ds_unknown', 'nonsense'])(
    'a viewer finds nothing at %s, as where there is nothing',
    async (id) => {
      const client = await seeded({ role: 'viewer' })
      const response = await client.get(`${PATH}/${id}`)
      expect(response.status).toBe(404)
      expect(await response.text()).toContain('Page not found')
    },
  )

  test('a developer below the minimum role is told why there is nothing to try', async () => {
    const page = await (await seeded({ role: 'developer' })).read(`${PATH}/db_salaries`)
    expect(page).toContain('Only admins and above can query this data source')
  })

  test('name and description are saved, or come back with the reason', async () => {
    const client = await seeded({ role: 'developer' })
    const saved = await client.post(DATABASE, { name: 'Our handbook', description: 'New words.' })
    expect(saved.headers.get('location')).toBe(DATABASE)
    expect(client.source('db_handbook')).toMatchObject({ name: 'Our handbook', description: 'New words.' })
    const refused = await client.post(DATABASE, { name: '', description: 'Kept <words>' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('Kept &lt;words&gt;</textarea>')
  })

  test('a viewer’s forged form changes nothing', async () => {
    const client = await seeded({ role: 'viewer' })
    const before = structuredClone(client.sources.sources)
    expect((await client.post(DATABASE, { name: 'Mine' })).status).toBe(403)
    expect((await client.post(SEARCH, { document: '{}' })).status).toBe(403)
    expect((await client.post(`${HANDBOOK}/connection`)).status).toBe(403)
    expect((await client.post(`${HANDBOOK}/remove`, { confirm: 'handbook' })).status).toBe(403)
    await client.post(`${HANDBOOK}/state`, { state: 'off' })
    await client.post(`${HANDBOOK}/exposure`, { exposed: 'no' })
    expect(client.sources.sources).toEqual(before)
  })

  test('a form sent from another site changes nothing', async () => {
    const client = await seeded()
    for (const path of ['/database', '/search', '/ask', '/state', '/exposure', '/connection', '/remove']) {
      const response = await client.post(`${HANDBOOK}${path}`, {}, { origin: 'https://evil.example' })
      expect(response.status).toBe(403)
      const withoutToken = await client.post(`${HANDBOOK}${path}`, { form_token: 'x' })
      expect(withoutToken.status).toBe(403)
    }
  })

  test('a form acts in the organization it was shown for', async () => {
    const client = await seeded()
    const shownFor = client.gateway.org.id
    const other = client.gateway.data.organizations.find(({ name }) => name === 'Contoso Labs')!
    client.gateway.sources.add(other.id, 'handbook', { enabled: true, exposed: true })
    client.gateway.data.chosen = other.id
    await client.post(`${HANDBOOK}/state`, { state: 'off', organization: shownFor })
    const [ours, theirs] = [shownFor, other.id].map((org) =>
      client.sources.sources.find((one) => one.org === org && one.source_id === 'db_handbook'),
    )
    expect(ours?.enabled).toBe(false)
    expect(theirs?.enabled).toBe(true)
  })
})

describe('health', () => {
  const statement = 'create index on "public"."pages" ("team")'
  const health = {
    checked_at: '2026-11-15T10:00:00.000Z',
    problems: [
      { kind: 'unreachable', text: 'No connection to its server could be made or kept.' },
      { kind: 'missing_index', text: `Pages: Filters on it are faster with: ${statement}`, statement },
    ],
    last_error: {
      at: '2026-11-15T09:59:00.000Z',
      kind: 'unreachable',
      cause: 'Its server refuses our login.',
    },
  } as const

  test('is a line in the list and a card on the page, with statements to copy', async () => {
    const client = await seeded({ role: 'developer' })
    client.source('db_handbook').health = structuredClone(health) as never
    const list = textOf(await client.read(PATH))
    expect(list).toContain('2 problems')
    expect(list).toContain('Not checked')
    const page = await client.read(SEARCH)
    expect(textOf(page)).toContain('No connection to its server could be made or kept.')
    expect(textOf(page)).toContain('Pages: Filters on it are faster with: this statement')
    expect(page).toContain('create index on &quot;public&quot;.&quot;pages&quot; (&quot;team&quot;)</code>')
    expect(textOf(page)).toContain('Its server refuses our login.')
  })

  test('is nothing that a viewer sees', async () => {
    const client = await seeded({ role: 'viewer' })
    client.source('db_handbook').health = structuredClone(health) as never
    for (const path of [PATH, HANDBOOK]) expect(await client.read(path)).not.toMatch(/problem|refuses/)
  })
})

describe('exposure', () => {
  test('on, exposed from a role on, hidden, off', async () => {
    const client = await seeded({ role: 'admin' })
    const path = `${PATH}/db_warehouse`
    await client.post(`${path}/state`, { state: 'on' })
    expect(await client.read(`${path}/access`)).toContain('Turned on. Expose it so that people can query it.')
    await client.post(`${path}/exposure`, { exposed: 'yes', minimum_role: 'developer' })
    expect(client.source('db_warehouse')).toMatchObject({ exposed: true, minimum_role: 'developer' })
    expect(await client.read(`${path}/access`)).toContain('Exposed to developers and above.')
    await client.post(`${path}/exposure`, { exposed: 'no' })
    expect(client.source('db_warehouse')).toMatchObject({ exposed: false, minimum_role: 'developer' })
    await client.post(`${path}/state`, { state: 'off' })
    expect(client.source('db_warehouse').enabled).toBe(false)
  })

  test('the page says what the minimum role does not do', async () => {
    expect(await (await seeded()).read(ACCESS)).toContain(
      'The minimum role does not protect the database itself: members who already reach the database through database tools or the connect command still can.',
    )
  })

  test('a role that does not exist exposes nothing', async () => {
    const client = await seeded()
    await client.post(`${PATH}/db_tickets/exposure`, { exposed: 'yes', minimum_role: 'everybody' })
    expect(client.source('db_tickets').exposed).toBe(false)
    expect(await client.read(`${PATH}/db_tickets/access`)).toContain('Choose a minimum role')
  })

  test('at the limit of exposed data sources, and turned off, the page says what to do', async () => {
    const client = await seeded()
    client.sources.exposedMax = 2
    await client.post(`${PATH}/db_tickets/exposure`, { exposed: 'yes', minimum_role: 'viewer' })
    expect(await client.read(`${PATH}/db_tickets/access`)).toContain(
      'Hide or turn off one you no longer need',
    )
    await client.post(`${PATH}/db_warehouse/exposure`, { exposed: 'yes', minimum_role: 'viewer' })
    expect(await client.read(`${PATH}/db_warehouse/access`)).toContain('Enable it first, then expose it.')
  })
})

describe('the connection string', () => {
  test('stands folded in the answer to the button, and nowhere else', async () => {
    const client = await seeded({ role: 'developer' })
    expect(await client.read(DATABASE)).not.toContain('p4ss-w0rd')
    expect(client.gateway.data.seen).not.toContain('showConnectionString')
    const response = await client.post(`${HANDBOOK}/connection`)
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('set-cookie')).toBeNull()
    const page = await response.text()
    const folded = page
      .match(/<details class="more">.*?<\/details>/gs)
      ?.find((one) => one.includes('p4ss-w0rd'))
    expect(folded).toContain('postgres://handbook:p4ss-w0rd-of-the-fake@127.0.0.1:5433/handbook')
    expect(page.replace(folded ?? '', '')).not.toContain('p4ss-w0rd')
    expect(await client.read(DATABASE)).not.toContain('p4ss-w0rd')
    const again = await client.get(`${HANDBOOK}/connection`)
    expect(again.headers.get('location')).toBe(DATABASE)
  })

  test('of an attached database there is none, whoever asks', async () => {
    const client = await seeded()
    const response = await client.post(`${PATH}/db_warehouse/connection`)
    expect(response.status).toBe(409)
    expect(await response.text()).toContain('cannot be shown again')
    expect(client.gateway.data.seen).not.toContain('showConnectionString')
  })
})

describe('removing', () => {
  test('asks for the exact name', async () => {
    const client = await seeded({ role: 'admin' })
    const refused = await client.post(`${HANDBOOK}/remove`, { confirm: 'Handbook' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('must be exactly handbook')
    expect(client.source('db_handbook')).toBeDefined()
    const removed = await client.post(`${HANDBOOK}/remove`, { confirm: 'handbook' })
    expect(removed.headers.get('location')).toBe(PATH)
    expect(await client.read(PATH)).toContain('Handbook removed.')
    expect((await client.get(HANDBOOK)).status).toBe(404)
  })

  test('an attached one is only detached', async () => {
    const page = await (await seeded()).read(`${PATH}/db_warehouse/remove`)
    expect(page).toContain('Detach Warehouse?')
    expect(page).toContain('are not touched')
  })

  test('is for owners and admins', async () => {
    const client = await seeded({ role: 'developer' })
    expect((await client.get(`${HANDBOOK}/remove`)).status).toBe(403)
    expect((await client.post(`${HANDBOOK}/remove`, { confirm: 'handbook' })).status).toBe(403)
    expect(client.source('db_handbook')).toBeDefined()
  })
})

describe('the search tab', () => {
  const WAREHOUSE = `${PATH}/db_warehouse/search`
  const documentIn = (page: string): string =>
    (/<textarea[^>]*name="document".*?>\s*([^<]*)<\/textarea>/s.exec(page)?.[1] ?? '').replaceAll(
      '&quot;',
      '"',
    )

  test('is a checklist of what the tables hold, with a configuration that is ready to save', async () => {
    const client = await seeded({ role: 'developer' })
    const page = await client.read(WAREHOUSE)
    const words = textOf(page)
    expect(words).toContain('handbook.pages Not searched Vector column embedding')
    expect(words).toContain('384 dimensions, matches minilm-l6-v2')
    expect(words).toContain('Problem: 1,204 rows, 3 of them without a vector, which are never found')
    expect(words).toContain('Index hnsw , by cosine')
    expect(words).toContain('Problem: 1536 dimensions: no configured model has as many')
    expect(words).toContain('Problem: No index, so every question reads all rows')
    expect(words).toContain('Without a vector column: teams')
    const document = documentIn(page)
    expect(JSON.parse(document)).toEqual(client.sources.suggestion)
    const saved = await client.post(WAREHOUSE, { document })
    expect(saved.headers.get('location')).toBe(WAREHOUSE)
    expect(client.source('db_warehouse').connection_config).toEqual(
      client.sources.suggestion?.connection_config,
    )
    expect(textOf(await client.read(WAREHOUSE))).toContain('Configuration saved.')
  })

  test.each([
    ['{', 'is not valid JSON'],
    ['{"connection_config": {}}', 'connection_config.embedding_configs'],
    ['{"connection_config": {"embedding_configs": []}, "more": 1}', 'more'],
  ])('%s is refused with the reason, and stays', async (document, reason) => {
    const client = await seeded({ role: 'developer' })
    const response = await client.post(WAREHOUSE, { document })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(textOf(page)).toContain(reason)
    expect(documentIn(page).trim()).toBe(document)
    expect(client.source('db_warehouse').connection_config).toBeNull()
  })

  test('what does not fit the database is refused with every problem', async () => {
    const client = await seeded({ role: 'developer' })
    const document = JSON.stringify(client.sources.suggestion).replace('handbook.pages', 'missing')
    const response = await client.post(WAREHOUSE, { document })
    expect(response.status).toBe(400)
    expect(textOf(await response.text())).toContain('pages: there is no table &quot;missing&quot;')
  })

  test('a database that does not answer is told, and the rest of the page is there', async () => {
    const client = await seeded({ role: 'developer' })
    client.sources.tables = new ServiceError('SOURCE_FAILED')
    const words = textOf(await client.read(SEARCH))
    expect(words).toContain(ERRORS.SOURCE_FAILED.message)
    expect(words).toContain('Change the configuration')
  })

  test('a table may be called anything', async () => {
    const client = await seeded({ role: 'developer' })
    const hostile = '<img src=x>"; drop table x; --'
    if (client.sources.tables instanceof ServiceError) throw client.sources.tables
    Object.assign(client.sources.tables[1]!, { table: hostile })
    const page = await client.read(WAREHOUSE)
    expect(page).not.toContain('<img')
    expect(page).toContain('create index on &quot;&lt;img src=x&gt;&quot;&quot;; drop table x; --&quot;')
  })
})

describe('try it', () => {
  const question = { query: 'When are holidays planned?', target: '', top_k: '5' }

  test('filters are offered by their types', async () => {
    const page = (await (await seeded({ role: 'viewer' })).read(HANDBOOK)).replaceAll(/\s+/g, ' ')
    expect(page).toContain('name="filter:team" type="text"')
    expect(page).toContain('name="filter:year" type="number" value="" step="any"')
    expect(page).toContain('<select id="filter-2" name="filter:draft"')
    expect(page).toContain('<option value="Decisions"')
  })

  test('the question goes out as it was asked, and is kept in no address and no cookie', async () => {
    const client = await seeded({ role: 'viewer' })
    const response = await client.post(`${HANDBOOK}/ask`, {
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
    expect(client.sources.questions).toEqual([
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
    expect(await client.read(HANDBOOK)).not.toContain('holidays planned')
  })

  test('hits come with title, id, score and target; long values are folded; what was cut is said', async () => {
    const client = await seeded()
    const page = await (await client.post(`${HANDBOOK}/ask`, question)).text()
    const words = textOf(page)
    expect(words).toMatch(/2 hits in \d+ ms/)
    expect(words).toContain('How we plan holidays 42 score 0.8127 Pages hybrid')
    expect(words).toContain('17 score 0.4405 Decisions reason Days off are counted in half days.')
    expect(words).toContain('The response was truncated. The value `body` of hit 42 was cut.')
    expect(page).toMatch(/<details class="value-long">\s*<summary>Enter the days/)
    expect(page).toContain('[&quot;time off&quot;,&quot;calendar&quot;]')
    expect(page).not.toContain('signed-handle')
    expect(page).toMatch(/class="score-share" width="56"/)
    expect(page).toMatch(/class="score-share" width="30.4"/)
  })

  test('nothing found is an answer too', async () => {
    const client = await seeded()
    client.sources.answer = { count: 0, results: [] }
    const page = await (await client.post(`${HANDBOOK}/ask`, question)).text()
    expect(page).toContain('No results')
  })

  test('what a database holds is text, whatever it looks like', async () => {
    const client = await seeded()
    const hostile = '<img src=x onerror=alert(1)>"\'</dd>'
    client.sources.answer = {
      count: 1,
      results: [
        { id: hostile, title: hostile, metadata: { [hostile]: hostile.repeat(20), _target: hostile } },
      ],
      truncated: hostile,
    }
    const page = await (await client.post(`${HANDBOOK}/ask`, { ...question, query: hostile })).text()
    expect(page).not.toContain('<img')
    expect(page.match(/&lt;img src=x/g)?.length).toBeGreaterThan(20)
  })

  /** `{}['constructor']` is not nothing. */
  test('a filter column may be called anything', async () => {
    const client = await seeded()
    client.source('db_handbook').filter_schema = Object.fromEntries(
      ['constructor', 'toString'].map((column) => [column, 'string']),
    )
    const page = await (await client.post(`${HANDBOOK}/ask`, { ...question, 'filter:toString': 'x' })).text()
    expect(page).not.toContain('native code')
    expect(client.sources.questions[0]?.filters).toEqual({ toString: 'x' })
  })

  test.each(queryDataSource.errors.filter((code) => code !== 'UNAUTHENTICATED'))(
    '%s is said in words, with what to do, and the question stays',
    async (code) => {
      const client = await seeded({ role: 'viewer' })
      client.sources.answer = new ServiceError(code, undefined, {
        problems: ['filters.year: must be a number'],
        retryAfterSeconds: code === 'QUOTA_EXCEEDED' ? 7 * 3600 : undefined,
      })
      const response = await client.post(`${HANDBOOK}/ask`, question)
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
    const owner = await seeded()
    owner.source('db_handbook').exposed = false
    const response = await owner.post(`${HANDBOOK}/ask`, question)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('This data source is not available')
    const viewer = await seeded({ role: 'viewer' })
    viewer.source('db_handbook').exposed = false
    const hidden = await viewer.post(`${HANDBOOK}/ask`, question)
    expect(await hidden.text()).toContain('Page not found')
    expect(viewer.sources.questions).toEqual([])
  })

  test('the address an answer leaves behind leads back to the source', async () => {
    const client = await seeded()
    expect((await client.get(`${HANDBOOK}/ask`)).headers.get('location')).toBe(HANDBOOK)
    expect((await client.get(`${PATH}/nonsense/ask`)).status).toBe(404)
  })
})

describe('a search over all of them', () => {
  const SEARCH_ALL = `${PATH}/search`

  test('shows what was found, where, and which sources could not be asked', async () => {
    const client = await seeded({ role: 'viewer' })
    expect(await client.read(PATH)).toContain(`href="${SEARCH_ALL}"`)
    client.sources.answer = {
      count: 1,
      results: [
        { id: 'signed-handle', title: 'Leave', metadata: { _source: 'db_handbook', _target: 'Pages' } },
      ],
    }
    client.sources.unavailable = [{ source_id: 'db_slow', reason: 'The database took too long to answer' }]
    const page = await (await client.post(SEARCH_ALL, { query: 'Who <plans>?' })).text()
    const words = textOf(page)
    expect(words).toContain(
      'Not searched: db_slow (The database took too long to answer). The results are from the other data sources.',
    )
    expect(words).toContain('Leave db_handbook Pages')
    expect(page).not.toContain('signed-handle')
    expect(page).toContain('Who &lt;plans&gt;?</textarea>')
  })

  test('says what to do when it is refused', async () => {
    const client = await seeded({ role: 'viewer' })
    client.sources.answer = new ServiceError('RATE_LIMITED')
    const response = await client.post(SEARCH_ALL, { query: 'x' })
    expect(response.status).toBe(429)
    expect(await response.text()).toContain('The limit applies to the whole organization')
  })
})
