import { expect, test } from 'vitest'
import type { StoredPlan } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import { isSamePlan, planLoad } from './plan-load.ts'
import { targetProblems } from './target-table.ts'

const PLAN = {
  table: 'papers',
  replace: true,
  append: false,
  model: 'm',
  dimensions: 3,
  columns: [
    { name: 'id', type: 'text' },
    { name: 'title', type: 'text' },
  ],
  id: 0,
  title: 1,
  embed: [1],
} as unknown as StoredPlan

const TARGET = {
  types: new Map([
    ['id', 'text'],
    ['title', 'text'],
  ]),
  kinds: new Map(),
  key: 'id',
  model: 'm',
  embedded: undefined,
  stored: [],
  isDependedOn: false,
  isLoaded: true,
}

const entry = (more: object) => ({
  label: 'papers',
  table: 'papers',
  columns: ['embedding'],
  model: 'm',
  dimensions: 3,
  content_columns: 'id,title',
  distance_metric: 'cosine' as const,
  ...more,
})

test.each([
  [{}, {}, []],
  [{ text_search_column: 'words' }, {}, []],
  [{}, { access_column: null }, []],
  [{}, { access_column: 'seen_by' }, ['seen_by']],
  [{ table: 'public.papers' }, { access_column: 'seen_by' }, ['seen_by']],
  [{ table: 'others' }, { access_column: 'seen_by' }, []],
  [{ columns: ['title_vector'], text_search_column: 'title_words' }, {}, ['title_vector', 'title_words']],
])('a file that replaces a table has all that is configured of it: %j %j', (of, configured, missing) => {
  const configuration = {
    connection_config: { embedding_configs: [entry(of)] },
    filter_schema: {},
    ...configured,
  }
  expect(targetProblems(PLAN, TARGET, configuration)).toEqual(
    missing.map((name) => `the search configuration names column ${name}`),
  )
})

test('what no load has made is not replaced, nor by a file without the column that says who sees a row', () => {
  expect(targetProblems(PLAN, { ...TARGET, isLoaded: false }, null)).toEqual([
    'the table was not made by a load',
  ])
  const configuration = {
    connection_config: { embedding_configs: [entry({})] },
    filter_schema: {},
    access_column: 'seen_by',
  } as unknown as SearchConfiguration
  expect(targetProblems(PLAN, TARGET, configuration)).toEqual([
    'the search configuration names column seen_by',
  ])
})

test('neither a list of texts nor one of objects is an id', () => {
  const asked = { id_column: 'tags', embed_columns: [] }
  const header = { headers: ['tags', 'text'], delimiter: ',', consumed: 0, line: 1, problems: [] }
  for (const kind of ['lists', 'jsons']) {
    const plan = () => planLoad(asked as never, { ...header, [kind]: ['tags'] }, {} as never, {} as never, 0)
    expect(plan).toThrow(expect.objectContaining({ problems: ['id_column: a list is no id'] }))
  }
})

const EMBEDDED = {
  ...TARGET,
  types: new Map([...TARGET.types, ['embedding', 'vector(3)']]),
  embedded: '["title"]',
}
const upsert = { replace: undefined, upsert: true }
const append = { replace: undefined, append: true }

test.each([
  [upsert, {}, []],
  [append, {}, []],
  [{ replace: undefined }, {}, ['a table, view or index of that name exists already']],
  [{ ...append, embed: [] }, {}, ['the rows of the table are embedded: name the columns whose text is']],
  [upsert, { embedded: '["id"]' }, ['the rows of the table are embedded from other columns: ["id"]']],
  [append, { embedded: '["id"]' }, []],
  [{ ...upsert, dimensions: 8 }, {}, ['the table has no column embedding of type vector(8), as m needs']],
  [{ ...append, model: 'n' }, {}, ['the rows of the table are embedded with m, not n']],
  [upsert, { key: 'title' }, ['the key of the table is not column id']],
  [{ ...upsert, id: -1 }, {}, ['the key of the table is not column row_number']],
  [
    { ...upsert, columns: [...PLAN.columns, { name: 'price', kind: 'number' }] },
    {},
    ['the table has no column price'],
  ],
  [
    { ...upsert, columns: [{ name: 'id' }, { name: 'title', kind: 'number' }] },
    {},
    ['column title of the table is a text'],
  ],
  [
    upsert,
    { types: new Map([...EMBEDDED.types, ['title', 'bytea']]) },
    ['column title is neither text, a number, a date, a time, true or false, a list of texts nor JSON'],
  ],
])('rows for a table that is there: of a plan with %j and a table with %j', (asked, found, problems) => {
  expect(targetProblems({ ...PLAN, ...asked } as StoredPlan, { ...EMBEDDED, ...found }, null)).toEqual(
    problems,
  )
})

test('a table that is not there takes no rows, and may be replaced', () => {
  const problemsOf = (asked: object) => targetProblems({ ...PLAN, ...asked }, undefined, null)
  expect([problemsOf(upsert), problemsOf(append), problemsOf({}), problemsOf({ replace: false })]).toEqual([
    ['there is no such table'],
    ['there is no such table to append to'],
    [],
    [],
  ])
})

test('the model of a table that nobody noted is the one that questions are asked with', () => {
  const configuration = {
    connection_config: { embedding_configs: [entry({ model: 'n' })] },
    filter_schema: {},
  } as unknown as SearchConfiguration
  const unnoted = { ...EMBEDDED, model: undefined }
  const problems = targetProblems({ ...PLAN, ...upsert }, unnoted, configuration)
  expect(problems).toEqual(['the rows of the table are embedded with n, not m'])
})

test('a file replaces no table that others depend on, and neither the type of a filter nor the model of questions', () => {
  expect(targetProblems(PLAN, { ...TARGET, isDependedOn: true }, null)).toEqual([
    'a view, a trigger, a policy or another table depends on it; change its rows by their id instead',
  ])
  const columns = [PLAN.columns[0]!, { ...PLAN.columns[1]!, kind: 'number' as const }]
  const problemsIn = (table: string) =>
    targetProblems({ ...PLAN, columns, model: 'n' }, TARGET, {
      connection_config: { embedding_configs: [entry({ table })] },
      filter_schema: { title: 'string' },
    } as unknown as SearchConfiguration)
  expect(problemsIn('papers')).toEqual([
    'the search configuration filters column title as a string',
    'the search configuration names model m, not n',
  ])
  expect(problemsIn('others')).toEqual([])
})

const HEADER = { headers: ['sku', 'name', 'tags', 'parts'], lists: ['tags'], jsons: ['parts'], problems: [] }
const plan = (asked: object, header = {}) =>
  planLoad(
    { embed_columns: [], ...asked } as never,
    { ...HEADER, ...header } as never,
    { name: 'shop' } as never,
    { kind: 'user' } as never,
    3,
  )

test.each([
  [{ id_column: 'no' }, ['id_column: the file has no column no']],
  [{ embed_columns: ['name', 'no'] }, ['embed_columns: the file has no column no']],
  [{ filter_columns: ['parts'] }, ['filter_columns: parts holds lists of objects']],
  [{ types: { tags: 'number' } }, ['types: tags holds lists']],
  [{ types: { parts: 'date' } }, ['types: parts holds lists']],
  [{ id_column: 'sku', types: { sku: 'number' } }, ['types: sku is the id, which is a text']],
  [{ append: true }, ['id_column: rows can only be appended by their id']],
  [{ upsert: true }, ['id_column: rows can only be changed by their id']],
  [{ id_column: 'sku', upsert: true, replace: true }, ['replace: only one of append, upsert and replace']],
  [{ id_column: 'sku', replace: true, delete_missing: true }, ['delete_missing: only with upsert']],
])('what cannot be done with the file is refused: %j', (asked, problems) => {
  expect(() => plan(asked)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', problems }))
})

test('of a file whose header is bad that alone is told', () => {
  const problems = ['line 1: column 1 has no name']
  expect(() => plan({ id_column: 'sku' }, { headers: [], problems })).toThrow(
    expect.objectContaining({ problems }),
  )
})

test('what may be asked of a file becomes a plan, with nothing twice', () => {
  const asked = { id_column: 'sku', embed_columns: ['name', 'name'], filter_columns: ['tags', 'tags'] }
  expect(
    plan({ ...asked, types: { tags: 'text', sku: 'text' }, upsert: true, delete_missing: true }),
  ).toMatchObject({
    table: 'shop',
    id: 0,
    // The first column that is neither the id nor embedded.
    title: 2,
    embed: [1],
    filters: [2],
    upsert: true,
    deleteMissing: true,
    author: { kind: 'user' },
  })
  expect(plan({ id_column: 'sku' }, { headers: ['sku'] }).title).toBeNull()
})

test('a plan is the same whoever asks for it and in whichever order it was stored, and another with any other choice', () => {
  const [stored, again] = [plan({ table: 'goods' }), plan({ table: 'goods' })]
  const inOtherOrder = Object.fromEntries(Object.entries(stored).toReversed()) as StoredPlan
  expect(isSamePlan({ ...inOtherOrder, author: {} as never, changes: {} as never }, again)).toBe(true)
  const others = [
    { table: 'others' },
    { upsert: true, id_column: 'sku' },
    { dry_run: true },
    { types: { name: 'text' } },
  ]
  for (const other of others) expect(isSamePlan(stored, plan({ table: 'goods', ...other }))).toBe(false)
})
