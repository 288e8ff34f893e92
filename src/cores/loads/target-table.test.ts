import { expect, test } from 'vitest'
import type { StoredPlan } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import { planLoad } from './plan-load.ts'
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
