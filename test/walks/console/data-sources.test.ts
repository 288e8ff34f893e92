/** The pages of data sources: the list, asking one, its access, its configuration and its database. Files and documents: data-source-files. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dataSourceHealth, dataSources } from '../../../db/schema.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { SearchConfiguration, showDataSource } from '../../../src/contracts/data-sources.ts'
import { showLoad } from '../../../src/contracts/loads.ts'
import { openConsole, type Console } from '../../support/console.ts'
import {
  configurationOf,
  entry,
  insertSource,
  makeSource,
  managedDatabases,
  startWithDatabases,
  type SystemWithDatabases,
} from '../../support/data-sources.ts'
import { makeMember, makeOrganization, unique, type Org } from '../../support/make.ts'
import { makeZip } from '../../support/document-files.ts'
import { insertEval } from '../../support/evals.ts'
import { PAGES } from '../../support/walker.ts'

const PATH = '/console/data-sources'
const TABLES = `
  create extension if not exists vector;
  create table pages (id int primary key, title text, team text, year int, draft bool, body text, embedding vector(3));
  insert into pages values
    (42, 'How we plan holidays', 'People', 2026, false, repeat('Enter the days. ', 45), '[1,0,0]'),
    (17, '<img src=x onerror=alert(1)>', 'Legal', 2025, true, 'short', '[0,1,0]');
  create table notes (id int primary key, title text)`
const CONFIGURATION = configurationOf(
  [entry('pages', { label: 'Pages', content_columns: 'id,title,team,body' })],
  { team: 'string', year: 'number', draft: 'boolean' },
)

const configured = (filter_schema?: SearchConfiguration['filter_schema']): SearchConfiguration =>
  SearchConfiguration.parse({ ...CONFIGURATION, ...(filter_schema && { filter_schema }) })

let system: SystemWithDatabases
let org: Org
let [owner, admin, developer, viewer]: Console[] = []
beforeAll(async () => {
  system = await startWithDatabases({ ...PAGES })
  org = await makeOrganization(system)
  const member = async (role: 'admin' | 'developer' | 'viewer') =>
    openConsole(system, await makeMember(system, org, role))
  owner = await openConsole(system, org.owner)
  ;[admin, developer, viewer] = [await member('admin'), await member('developer'), await member('viewer')]
  await makeSource(org, { name: 'handbook', sql: TABLES, configuration: CONFIGURATION })
  const row = { enabled: true, exposed: true }
  const salaries = { title: 'Salaries', ...row, minimumRole: 'admin', configuration: configured() } as const
  await insertSource(system, org, { name: 'salaries', ...salaries })
  await insertSource(system, org, { name: 'tickets', title: 'Tickets', enabled: true })
  await insertSource(system, org, { name: 'warehouse', title: 'Warehouse', kind: 'attached' })
}, 120_000)
afterAll(() => system.stop())

const source = (name: string) => org.owner.call(showDataSource, { source_id: `db_${name}` })
const change = (name: string, changes: Partial<typeof dataSources.$inferInsert>) =>
  system.db
    .update(dataSources)
    .set(changes)
    .where(and(eq(dataSources.orgId, org.id), eq(dataSources.name, name)))
const HANDBOOK = `${PATH}/db_handbook`

describe('the list', () => {
  test('builders see every database with its state; viewers what they may ask, and no controls', async () => {
    const all = await developer!.open(PATH)
    expect(all.row('db_handbook')).toMatch(
      /(?:Embedded|\| Postgres).*Exposed to viewers and above.*Configured 1 table, 3 filter columns/,
    )
    expect(all.row('db_handbook')).toContain(managedDatabases() === 'embedded' ? 'Embedded' : 'Postgres')
    expect(all.row('db_tickets')).toContain('On, not exposed')
    expect(all.row('db_warehouse')).toMatch(/Attached Postgres.*Off.*Not configured/)
    expect(all.row('db_salaries')).toContain('Exposed to admins and above')
    const asked = await viewer!.open(PATH)
    expect(asked.text).toContain('db_handbook')
    expect(asked.text).toContain('team string')
    for (const hidden of ['Salaries', 'Warehouse', 'Tickets', `${PATH}/new`, `${PATH}/attach`]) {
      expect(asked.html).not.toContain(hidden)
    }
    const found = await all.form('Filter').with({ search: 'ticket' }).submit()
    expect(found.rows).toHaveLength(1)
    const none = await all.form('Filter').with({ search: 'nonsense' }).submit()
    expect(none.text).toContain('No matching data sources')
  })

  test('where there is none, three steps and a command, for those who build; others are not shown them', async () => {
    const empty = await makeOrganization(system)
    const page = await (await openConsole(system, empty.owner)).open(PATH)
    expect(page.html.match(/<li>\s*<h3>/g)).toHaveLength(3)
    expect(page.text).toContain('/api/wf/data-sources/db_NAME')
    const theirs = await openConsole(system, await makeMember(system, empty, 'viewer'))
    const read = await theirs.open(PATH)
    expect(read.text).toContain('No data sources yet')
    expect(read.text).not.toContain('curl')
    expect((await theirs.open(HANDBOOK)).status).toBe(404)
  })

  test('is paged with the search; names that are markup are text', async () => {
    const crowded = await makeOrganization(system)
    for (let n = 10; n < 61; n++) await insertSource(system, crowded, { name: `clone_${n}` })
    const row = {
      title: '<script>alert(1)</script>',
      description: '</p><img src=x>',
      enabled: true,
      exposed: true,
    }
    await insertSource(system, crowded, {
      name: 'hostile',
      ...row,
      configuration: configured({ '"><b>col': 'string' }),
    })
    const theirs = await openConsole(system, crowded.owner)
    const page = await theirs.open(`${PATH}?search=clone`)
    const next = page.link('Next page')
    expect(next).toContain('search=clone&cursor=')
    expect((await theirs.open(next)).rows).toHaveLength(1)
    const reader = await openConsole(system, await makeMember(system, crowded, 'viewer'))
    for (const [who, address] of [
      [theirs, `${PATH}?search=hostile`],
      [theirs, `${PATH}/db_hostile`],
      [reader, PATH],
      [reader, `${PATH}/db_hostile`],
    ] as const) {
      const shown = await who.open(address)
      expect(shown.html).toContain('&lt;script&gt;alert(1)')
      expect(shown.html).not.toMatch(/<script>alert|<img src=x|<b>col/)
    }
  })
})

describe('a new database', { timeout: 60_000 }, () => {
  test('is refused with the reason beside the name, is made, and its page opens', async () => {
    const form = (await developer!.open(`${PATH}/new`)).form('Create database')
    const typed = { name: 'Bad <name>', title: 'Kept' }
    const refused = await form.with(typed).submit()
    expect([refused.status, Object.keys(refused.problems)]).toEqual([400, ['name']])
    expect(refused.form('Create database').values()).toMatchObject(typed)
    const taken = await form.with({ name: 'handbook' }).submit()
    expect([taken.status, taken.notices[0]]).toEqual([409, expect.stringContaining('handbook')])
    const name = unique('articles').replace('-', '_')
    const made = await form.with({ name, title: 'Our articles', description: 'What we wrote.' }).submit()
    expect([made.path, made.title, made.notices]).toEqual([
      `${PATH}/db_${name}`,
      'Our articles',
      ['Database created.'],
    ])
    expect((await viewer!.open(`${PATH}/new`)).status).toBe(403)
    const database = await admin!.open(`${made.path}/database`)
    const form2 = database.form('Save', 'Description')
    const empty = await form2.with({ name: '', description: 'Kept <words>' }).submitUnchecked()
    expect([empty.status, empty.form('Save', 'Description').value('description')]).toEqual([
      400,
      'Kept <words>',
    ])
    await form2.with({ name: 'New name', description: 'New words.' }).submit()
    expect(await source(name)).toMatchObject({ name: 'New name', description: 'New words.' })
    // Removing asks for the exact name.
    const remove = (await admin!.open(`${made.path}/remove`)).form('Remove database')
    const wrong = await remove.with({ confirm: name.toUpperCase() }).submit()
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining(`must be exactly ${name}`)])
    const gone = await wrong.form('Remove database').with({ confirm: name }).submit()
    expect([gone.path, gone.notices]).toEqual([PATH, ['New name removed.']])
    expect((await admin!.open(made.path)).status).toBe(404)
  })

  /** The connection string holds a password: it is typed unseen and never sent back. */
  test('is attached by owners and admins, and its connection string comes back nowhere', async () => {
    expect((await developer!.open(`${PATH}/attach`)).status).toBe(403)
    const page = await admin!.open(`${PATH}/attach`)
    expect(page.html.replaceAll(/\s+/g, ' ')).toMatch(
      /name="url" type="password" value="" autocomplete="off"/,
    )
    const typed = { name: 'stock', url: 'mysql://u:hush@h/d' }
    const refused = await page.form('Attach database').with(typed).submit()
    expect([refused.status, refused.notices]).toEqual([
      400,
      expect.arrayContaining([expect.stringContaining('must have the form postgres://')]),
    ])
    expect(refused.form('Attach database').values()).toMatchObject({ name: 'stock', url: '' })
    expect(refused.html).not.toContain('hush')
    expect(JSON.stringify(admin!.walker.jar.all())).not.toContain('hush')
    const detach = await admin!.open(`${PATH}/db_warehouse/remove`)
    expect(detach.text).toContain('Detach Warehouse?')
    expect(detach.text).toContain('are not touched')
    expect((await developer!.open(`${PATH}/db_warehouse/remove`)).status).toBe(403)
  })
})

describe('one data source', () => {
  test.each([
    ['a viewer', () => viewer!, 'handbook', ['/ask']],
    ['a developer', () => developer!, 'handbook', ['/ask', '/search', '/connection', '/database']],
    ['a developer', () => developer!, 'salaries', ['/search', '/connection', '/database']],
    ['an admin', () => admin!, 'warehouse', ['/state', '/search', '/database']],
    ['an admin', () => admin!, 'tickets', ['/exposure', '/state', '/search', '/connection', '/database']],
  ])('%s finds in the tabs of it the forms they may send', async (_who, who, name, forms) => {
    const base = `${PATH}/db_${name}`
    const pages = await Promise.all(
      ['', '/access', '/search', '/database', '/usage'].map((tab) => who().open(base + tab)),
    )
    const found = pages
      .flatMap((page) => page.forms)
      .filter(({ action, method }) => method === 'POST' && action.pathname.startsWith(base))
      .map(({ action }) => action.pathname.slice(base.length))
    expect([...new Set(found)]).toEqual(forms)
  })

  test('a viewer has two tabs, and finds nothing where there is nothing for them', async () => {
    const page = await viewer!.open(HANDBOOK)
    const tabs = /<nav class="tabs".*?<\/nav>/s.exec(page.html)?.[0] ?? ''
    expect(tabs.match(/<a /g)).toHaveLength(2)
    expect((await viewer!.open(`${HANDBOOK}/usage`)).text).toContain('Your questions in 30 days')
    for (const tab of ['access', 'search', 'database', 'remove']) {
      expect((await viewer!.open(`${HANDBOOK}/${tab}`)).status).toBe(403)
    }
    for (const id of ['db_salaries', 'db_tickets', 'db_unknown', 'ds_unknown', 'nonsense']) {
      const none = await viewer!.open(`${PATH}/${id}`)
      expect([none.status, none.title]).toEqual([404, 'Page not found'])
    }
    expect((await developer!.open(`${PATH}/db_salaries`)).text).toContain(
      'Only admins and above can query this data source',
    )
    const missing = await owner!.open(`${PATH}/db_tickets`)
    expect(missing.text).toContain('Save a search configuration')
    expect(missing.html).toContain(`href="${PATH}/db_tickets/access"`)
  })

  test('is turned on, exposed from a role on, hidden, and turned off', async () => {
    const access = `${PATH}/db_tickets/access`
    const page = await admin!.open(access)
    expect(page.text).toContain('The minimum role does not protect the database itself')
    const exposed = await page.form('Expose').with({ minimum_role: 'developer' }).submit()
    expect(exposed.notices[0]).toBe('Exposed to developers and above.')
    expect(await source('tickets')).toMatchObject({ exposed: true, minimum_role: 'developer' })
    const hidden = await exposed.form('Hide').submit()
    expect(await source('tickets')).toMatchObject({ exposed: false, minimum_role: 'developer' })
    const off = await hidden.form('Turn off').submit()
    expect((await source('tickets')).enabled).toBe(false)
    // Of a page from before it was turned off.
    expect((await page.form('Expose').submit()).notices[0]).toContain('Enable it first, then expose it.')
    const on = await off.form('Turn on').submit()
    expect(on.notices[0]).toBe('Turned on. Expose it so that people can query it.')
  })

  test('says who sees which rows, and shows admins what somebody would see', async () => {
    const page = await admin!.open(`${HANDBOOK}/access`)
    expect(page.text).toContain('Whoever can query it sees every row.')
    expect((await developer!.open(`${HANDBOOK}/access`)).offers('Preview')).toBe(false)
    const { email, name } = await makeMember(system, org, 'viewer')
    const seen = await page.form('Preview').with({ member_id: email }).submit()
    expect(seen.text).toContain(`${name} sees 2 rows of Pages.`)
    expect(seen.row('42')).toContain('How we plan holidays')
    const nobody = await page.form('Preview').with({ member_id: 'nobody@people.test' }).submit()
    expect([nobody.status, nobody.rows]).toEqual([404, []])
    expect((await admin!.open(`${HANDBOOK}/preview`)).path).toBe(`${HANDBOOK}/access`)
    await change('handbook', { configuration: { ...configured(), access_column: 'team' } })
    const limited = await admin!.open(`${HANDBOOK}/access`)
    expect(limited.text).toContain('The connection string reads past it')
    const none = await limited.form('Preview').with({ member_id: email }).submit()
    expect(none.text).toContain(`${name} sees no row of Pages`)
    const shown = await (
      await developer!.open(`${HANDBOOK}/database`)
    )
      .form('Show connection string')
      .submit()
    expect(shown.text).toContain('It reads past the access column team')
    expect((await developer!.open(`${HANDBOOK}/search`)).text).toContain('team names who sees a row')
    await change('handbook', { configuration: configured() })
  })

  test('shows how its evals went, what changed between them, and sets a threshold from the last', async () => {
    const handbook = await source('handbook')
    const known = { id: handbook.id, sourceId: handbook.source_id, name: 'handbook' }
    const empty = await developer!.open(`${HANDBOOK}/quality`)
    expect(empty.text).toContain('No evals yet')
    expect(empty.text).toContain('svc datasource eval db_handbook questions.yaml')
    const configuredAt = handbook.configured_at === null ? null : new Date(handbook.configured_at)
    const of = { target: 'Pages', configuredAt, models: ['toy-3'] }
    await insertEval(system, org, known, { ...of, createdByName: '<b>Olga</b>' })
    const changes = [
      { what: 'model', at: '2026-03-01T00:00:00.000Z' } as const,
      { what: 'rows', at: null } as const,
    ]
    await insertEval(system, org, known, {
      ...of,
      totals: { answerable: 5, recall: 2.5, reciprocal: 1 },
      changes,
    })
    const page = await developer!.open(`${HANDBOOK}/quality`)
    expect(page.html).toContain('aria-label="Recall@5 of the last 2 evals, oldest first: 80 %, 50 %"')
    expect(page.html.match(/<rect class="ink-(plain|dotted)"/g)).toHaveLength(2)
    expect(page.row('50 %')).toMatch(/0\.200.*Model.*Rows/)
    expect(page.html).not.toContain('<b>Olga</b>')
    expect(page.text).toContain('No answer is marked as weak.')
    const set = await page.form('Set from the last eval').submit()
    expect(set.notices[0]).toBe('Answers below the threshold are marked as weak.')
    expect(set.row('Pages')).toMatch(/0\.5.*In use/)
    expect(set.offers('Set from the last eval')).toBe(false)
    const asked = await viewer!.open(HANDBOOK)
    const weak = await asked.form('Ask').with({ query: '[0,0,1]' }).submit()
    expect(weak.text).toContain('A weak answer. No hit reaches the threshold')
    const removed = await set.form('Remove').submit()
    expect(removed.notices[0]).toBe('Answers are no longer marked as weak.')
    const written = '- question: "[1,0,0] leave"\n  expect: [nowhere]\n- {question: "[0,0,1]", expect: []}\n'
    const ran = await removed.form('Run').with({ questions: written }).submit()
    expect(ran.text).toContain('2 questions, recall@5 0 %, MRR 0.000.')
    expect(ran.row('[1,0,0] leave')).toMatch(/nowhere.*1\. /)
    const file = new File(['- question: "[1,0,0]"\n  expect: []\n'], 'questions.yaml')
    expect((await ran.form('Run').with({ file }).submit()).text).toContain('Nothing is missing.')
    const wrong = await ran.form('Run').with({ questions: '- question: why' }).submit()
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('Line 1: expect is missing')])
    expect((await viewer!.open(`${HANDBOOK}/quality`)).status).toBe(403)
    const elsewhere = await openConsole(system, (await makeOrganization(system)).owner)
    expect((await elsewhere.open(`${HANDBOOK}/quality`)).status).toBe(404)
  })

  test('shows its connection string in the answer to the button, folded, and nowhere else', async () => {
    const page = await developer!.open(`${HANDBOOK}/database`)
    expect(page.html).not.toContain('postgres://')
    const shown = await page.form('Show connection string').submit()
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const folded = shown.html
      .match(/<details class="more">.*?<\/details>/gs)
      ?.find((one) => one.includes('postgres://'))
    expect(folded).toBeDefined()
    expect(shown.html.replace(folded!, '')).not.toContain('postgres://')
    expect((await developer!.open(`${HANDBOOK}/connection`)).path).toBe(`${HANDBOOK}/database`)
    expect((await owner!.open(`${PATH}/db_warehouse/database`)).offers('Show connection string')).toBe(false)
  })

  test('has a health that builders see, with statements to copy, and viewers do not', async () => {
    const statement = 'create index on "public"."pages" ("team")'
    const { id: sourceId } = await source('handbook')
    const problems = [
      { kind: 'unreachable', text: 'No connection to its server could be made or kept.' },
      { kind: 'missing_index', text: `Pages: Filters on it are faster with: ${statement}`, statement },
    ] as const
    const row = { orgId: org.id, sourceId, checkedAt: system.clock.now(), problems }
    const target = [dataSourceHealth.orgId, dataSourceHealth.sourceId]
    await system.db.insert(dataSourceHealth).values(row).onConflictDoUpdate({ target, set: row })
    expect((await developer!.open(PATH)).row('db_handbook')).toContain('2 problems')
    const page = await developer!.open(`${HANDBOOK}/search`)
    expect(page.text).toContain('No connection to its server could be made or kept.')
    expect(page.text).toContain(statement)
    for (const path of [PATH, HANDBOOK]) expect((await viewer!.open(path)).text).not.toContain('problem')
    await system.db.delete(dataSourceHealth).where(eq(dataSourceHealth.orgId, org.id))
  })
})

/** What becomes of them when they are read and loaded: data-source-files. */
describe('a file', () => {
  const FORM = `${PATH}/load`
  const CSV = new File(['sku,name\n1,<b>Stove\n2,Lamp\n'], 'Price list.csv')

  test('of a table is uploaded, its columns are chosen, and the load is canceled', async () => {
    expect((await viewer!.open(FORM)).status).toBe(403)
    const form = (await developer!.open(FORM)).form('Upload')
    expect(form.choices('database')).toContain('handbook')
    expect(form.choices('database')).not.toContain('warehouse')
    const empty = await form.with({ file: new File([], 'empty.csv') }).submit()
    expect([empty.status, empty.text]).toEqual([
      400,
      expect.stringContaining('Choose a file that is not empty'),
    ])
    const taken = await form.with({ file: CSV, new_name: 'handbook' }).submit()
    expect(taken.status).toBe(409)
    const uploaded = await form.with({ file: CSV, database: 'handbook' }).submit()
    expect(uploaded.path).toMatch(/^\/console\/data-sources\/db_handbook\/loads\/lod_/)
    expect(uploaded.title).toBe('Price list.csv')
    expect(uploaded.rows).toEqual([
      ['1', '<b>Stove'],
      ['2', 'Lamp'],
    ])
    expect(uploaded.html).not.toContain('<b>Stove')
    const columns = uploaded.form('Load')
    expect(columns.choices('id_column')).toEqual(['', 'sku', 'name'])
    // It is not theirs to expose it.
    expect(columns.has('expose')).toBe(false)
    expect((await developer!.open(`${uploaded.path}?delimiter=%22`)).text).toContain(
      'It must be one character',
    )
    const wrong = await columns.with({ table: 'Not a table', type_sku: 'text' }).submit()
    expect([wrong.status, wrong.form('Load').values()]).toEqual([
      400,
      expect.objectContaining({ table: 'Not a table', type_sku: 'text' }),
    ])
    const plan = { table: 'prices', title_column: 'name', embed_columns: ['name'] }
    const started = await wrong.form('Load').with(plan).submit()
    expect([started.path, started.text]).toEqual([uploaded.path, expect.stringContaining('table prices')])
    const live = /data-live="([^"]+)"/.exec(started.html)![1]!.replaceAll('&amp;', '&')
    expect(JSON.parse((await developer!.open(live)).html)).toMatchObject({ ended: false, more: live })
    const id = uploaded.path.split('/').at(-1)!
    expect(await org.owner.call(showLoad, { load_id: id })).toMatchObject({
      state: 'running',
      table: 'prices',
      choices: { title_column: 'name', embed_columns: ['name'], types: { sku: 'text' } },
    })
    const canceled = await started.form('Cancel load').submit()
    expect([canceled.path, canceled.notices]).toEqual([HANDBOOK, ['Load canceled.']])
    expect((await developer!.open(uploaded.path)).text).toContain('Nothing was loaded.')
    expect((await developer!.open(`${HANDBOOK}/database`)).row('Price list.csv')).toContain(
      'Canceled | prices',
    )
    for (const path of [`${PATH}/db_tickets/loads/${id}`, `${HANDBOOK}/loads/lod_x`])
      expect((await owner!.open(path)).status).toBe(404)
    expect((await viewer!.open(uploaded.path)).status).toBe(403)
  })

  test('of documents is taken in an archive that can be trusted, and what is none is named', async () => {
    await insertSource(system, org, {
      name: 'manual',
      title: 'Manual',
      documents: { model: 'toy-3', dimensions: 3, language: 'english' },
    })
    const documents = `${PATH}/db_manual/documents`
    const zip = (files: Record<string, string>, flags = 0) =>
      new File([new Uint8Array(makeZip(files, flags))], 'manual.zip')
    const form = (await developer!.open(documents)).form('Upload')
    for (const [files, says] of [
      [zip({ '../out.md': 'x' }), 'contains the segment ".."'],
      [zip({ 'a.md': 'x' }, 1), 'is protected by a password'],
      [new File(['no archive'], 'a.zip'), 'is not a zip archive, or damaged'],
      [zip({ 'a.png': 'x' }), 'There are no documents among the files'],
      [
        zip({ 'staff/access.yml': 'access: [role:owner]', 'staff/a.md': 'x' }),
        'would say who sees its folder',
      ],
    ] as const) {
      const refused = await form.with({ files }).submit()
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(says)])
    }
    expect((await developer!.open(documents)).text).toContain('There are none yet.')
    const files = zip({
      'manual/pump.md': '# Pump',
      'manual/photo.png': 'x',
      '__MACOSX/manual/._pump.md': 'x',
    })
    const taken = await form.with({ files }).submit()
    expect(taken.text).toContain('1 file left out. photo.png : Only .md')
    // Its database does not answer.
    expect([taken.status, taken.text]).toEqual([504, expect.stringContaining('cannot be reached now')])
    expect((await owner!.open(`${HANDBOOK}/documents`)).status).toBe(404)
    expect((await viewer!.open(documents)).status).toBe(403)
    expect((await developer!.open(`${PATH}/db_manual/database`)).text).toContain('no connection string')
  })
})

describe('the search tab', () => {
  const SEARCH = `${HANDBOOK}/search`

  test('is a checklist of the tables, and the configuration readable, as a document and as a command', async () => {
    const page = await developer!.open(SEARCH)
    expect(page.text).toMatch(/pages .*Vector column embedding/)
    expect(page.text).toContain('No index; below 5,000 rows none is needed')
    expect(page.text).toContain('Without a vector column: notes')
    expect(page.text).toContain('team string year number draft boolean')
    expect(page.text).toContain('curl -X PUT http://localhost:4000/api/wf/data-sources/db_handbook')
    const form = page.form('Save configuration')
    const document = form.value('document')
    expect(JSON.parse(document)).toMatchObject({ filter_schema: { team: 'string' } })
    for (const [wrong, reason] of [
      ['{', 'is not valid JSON'],
      ['{"connection_config": {}}', 'embedding_configs'],
      ['{"connection_config": {"embedding_configs": []}, "more": 1}', 'more'],
      [document.replace('"table": "pages"', '"table": "missing"'), 'missing'],
    ] as const) {
      const refused = await form.with({ document: wrong }).submit()
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(reason)])
      expect(refused.form('Save configuration').value('document').replaceAll('\r', '').trim()).toBe(wrong)
    }
    const saved = await form.submit()
    expect([saved.path, saved.notices[0]]).toEqual([SEARCH, expect.stringContaining('Configuration saved.')])
    expect((await source('handbook')).connection_config).toMatchObject({
      embedding_configs: [{ table: 'pages' }],
    })
  })

  /** Whoever named a column could otherwise have a command run on the machine of whoever copies the line. */
  test('nothing in the configuration leaves the here-document of the command', async () => {
    await change('salaries', { configuration: configured({ "x'\nJSON\nrm -rf ~ #$(id)`id`": 'string' }) })
    const page = await admin!.open(`${PATH}/db_salaries/search`)
    const line = /<code id="configure">([^<]*)<\/code>/.exec(page.html)?.[1] ?? ''
    expect(line.split('\n').filter((one) => one === 'JSON')).toHaveLength(1)
    expect(line.endsWith('\nJSON')).toBe(true)
    expect(line).toContain('&lt;&lt;&#39;JSON&#39;')
    // Its database does not answer: that is told, and the rest of the page is there.
    expect(page.notices.length).toBeGreaterThan(0)
    expect(page.offers('Save configuration')).toBe(true)
  })
})

describe('a question', () => {
  const query = 'When are holidays planned?'

  test('goes out with its filters, is answered on the page, and kept in no address and no cookie', async () => {
    const page = await viewer!.open(HANDBOOK)
    const form = page.form('Ask')
    expect(form.field('from:year').kind).toBe('number')
    expect(form.choices('filter:draft')).toEqual(['', 'true', 'false'])
    const answer = await form
      .with({
        query,
        'filter:team': 'People',
        'from:year': '2026',
        'to:year': '2026',
        'filter:draft': 'false',
      })
      .submit()
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(answer.text).toMatch(/1 hit in [\d.]+ m?s/)
    expect(answer.text).toMatch(/How we plan holidays 42 .*Pages/)
    expect(answer.html).toMatch(/<details class="value-long">\s*<summary>Enter the days/)
    expect(answer.form('Ask').values()).toMatchObject({
      query,
      'filter:team': 'People',
      'from:year': '2026',
      'to:year': '2026',
    })
    expect(answer.html).not.toMatch(/href="[^"]*holidays/)
    expect(JSON.stringify(viewer!.walker.jar.all())).not.toContain('holidays')
    expect((await viewer!.open(HANDBOOK)).text).not.toContain('holidays planned')
    expect((await viewer!.open(`${HANDBOOK}/ask`)).path).toBe(HANDBOOK)
    const none = await form.with({ query, 'filter:team': 'Nobody' }).submit()
    expect(none.text).toContain('No results')
    const hostile = await form.with({ query: '[0,1,0] <img src=x>', top_k: '1' }).submit()
    expect(hostile.text).toContain('<img src=x onerror=alert(1)>')
    expect(hostile.html).not.toContain('<img')
    const usage = await owner!.open(`${HANDBOOK}/usage`)
    expect(usage.html).toContain('type=data_source&amp;source=db_handbook')
    expect(usage.rows.length).toBeGreaterThan(0)
  })

  test('that is refused says why, and stays; of a source that was hidden meanwhile only its keepers learn', async () => {
    const form = (await viewer!.open(HANDBOOK)).form('Ask')
    const refused = await form.with({ query, 'to:year': 'soon' }).submitUnchecked()
    expect(refused.status).toBe(400)
    expect(refused.notices[0]).toContain('year')
    expect(refused.form('Ask').value('query')).toBe(query)
    expect(refused.html).not.toContain('id="answer"')
    const owners = (await owner!.open(HANDBOOK)).form('Ask')
    await change('handbook', { exposed: false })
    expect((await owners.with({ query }).submit()).text).toContain('This data source is not available')
    const hidden = await form.with({ query }).submit()
    expect([hidden.status, hidden.title]).toEqual([404, 'Page not found'])
    await change('handbook', { exposed: true })
  })

  test('to all of them says what was found where, and which could not be asked', async () => {
    const page = await admin!.open((await admin!.open(PATH)).link('Search all'))
    const answer = await page.form('Search').with({ query: 'Who <plans>?' }).submit()
    expect(answer.text).toContain('How we plan holidays')
    expect(answer.text).toMatch(/Not searched: db_salaries/)
    expect(answer.form('Search').value('query')).toBe('Who <plans>?')
  })
})
