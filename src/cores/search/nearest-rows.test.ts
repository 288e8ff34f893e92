import { expect, test } from 'vitest'
import type { Queries } from '../databases/index.ts'
import { nearestRows } from './nearest-rows.ts'
import type { VectorSearch } from './table-search.ts'

const column = (name: string, type: string, schema = 'pg_catalog') => ({
  name,
  type,
  kind: 'b',
  modifier: -1,
  schema,
  virtual: false,
})
const row = (id: string) => ({ c0: id, c1: null, distance: 0.5 })

type Given = {
  readonly byIndex: readonly string[]
  /** Of long rows; none where nothing is said. */
  readonly ofPassages?: readonly { readonly id: string; readonly farthest: number }[]
  readonly rows?: number
}

/** A table that is too large to be compared as a whole, and an index that finds some of its rows. */
async function search(access: VectorSearch['access'], { byIndex, ofPassages, rows = 1_000_000 }: Given) {
  const columns = [column('id', 'text'), column('seen_by', '_text'), column('embedding', 'vector', 'public')]
  const queries = {
    query: async (text: string) => {
      if (text.startsWith('explain')) return [{ 'QUERY PLAN': '"Plan Rows": 1000000' }]
      if (text.startsWith('with ours'))
        return ofPassages?.map(({ id, farthest }) => ({ ...row(id), distance: 0.4, searched: 150, farthest }))
      return (text.startsWith('with near') ? byIndex : ['a', 'b', 'c']).map(row)
    },
  } as unknown as Queries
  const found = await nearestRows(queries, {
    entry: {
      label: 't',
      table: 't',
      columns: ['embedding'],
      model: 'm',
      dimensions: 384,
      content_columns: 'id,id',
      distance_metric: 'cosine',
    },
    tableInfo: {
      rows,
      passages: ofPassages && {
        key: 'id',
        keyType: 'text',
        model: 'm',
        dimensions: 384,
        rows: 10_000,
        operators: ['vector_cosine_ops'],
      },
      columns: new Map(columns.map((one) => [one.name, one])),
      indexes: [{ column: 'embedding', method: 'hnsw', operators: 'vector_cosine_ops' }],
    } as unknown as VectorSearch['tableInfo'],
    vector: [1, 0],
    filters: [],
    access,
    limit: 3,
  })
  return found.map(({ id }) => id)
}

const SOME = { column: 'seen_by', names: ['everyone'] }

test('where the index finds too few of the rows that somebody sees, all of them are compared', async () => {
  expect(await search(SOME, { byIndex: ['a'] })).toEqual(['a', 'b', 'c'])
  expect(await search(SOME, { byIndex: [] })).toEqual(['a', 'b', 'c'])
})

test('what the index finds is enough where it is as many as were asked for, or no row is left out', async () => {
  expect(await search(SOME, { byIndex: ['x', 'y', 'z'] })).toEqual(['x', 'y', 'z'])
  expect(await search('all', { byIndex: ['x'] })).toEqual(['x'])
})

test('a filter that no long row passes is no reason to compare all rows', async () => {
  const byIndex = ['x', 'y', 'z']
  expect(await search(SOME, { byIndex, ofPassages: [] })).toEqual(byIndex)
  expect(await search(SOME, { byIndex, ofPassages: [{ id: 'p', farthest: 0.45 }] })).toEqual(['p', 'x', 'y'])
})

test('where passages that were not looked at may be nearer, all rows are compared unless that takes too long', async () => {
  const given = { byIndex: ['x', 'y', 'z'], ofPassages: [{ id: 'p', farthest: 0.45 }] }
  expect(await search('all', { ...given, rows: 20_000 })).toEqual(['a', 'b', 'c'])
  expect(await search('all', given)).toEqual(['p', 'x', 'y'])
})
