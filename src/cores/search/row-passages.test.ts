import { expect, test } from 'vitest'
import type { Queries } from '../databases/index.ts'
import { mergeNearest, passagesFor, withNearestPassage } from './row-passages.ts'
import type { TableSearch } from './table-search.ts'

const row = (id: string, distance: number) => ({ c0: id, distance })
const ofPassage = (id: string, distance: number, { searched = 150, farthest = 0.9 } = {}) => ({
  ...row(id, distance),
  searched,
  farthest,
})
const idsOf = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map((found) => found['c0'])

test('a row is as near as the nearest of its vectors, and comes once', () => {
  const byRows = [row('a', 0.1), row('b', 0.3), row('c', 0.4)]
  const byPassages = [ofPassage('c', 0.05), ofPassage('d', 0.2), ofPassage('a', 0.5)]
  expect(mergeNearest(byRows, byPassages, 3).rows).toMatchObject([
    { c0: 'c', distance: 0.05 },
    { c0: 'a', distance: 0.1 },
    { c0: 'd', distance: 0.2 },
  ])
})

test('equals go by their id, byte by byte', () => {
  const all = [ofPassage('Z', 0.1, { searched: 1 })]
  const { rows } = mergeNearest([row('é', 0.1), row('a', 0.1)], all, 3)
  expect(idsOf(rows)).toEqual(['Z', 'a', 'é'])
})

test('it is said whether a passage that was not looked at may be nearer', () => {
  const byRows = [row('a', 0.1), row('b', 0.95)]
  const isSure = (farthest: number, searched = 150) => {
    const merged = mergeNearest(byRows, [ofPassage('c', 0.2, { searched, farthest })], 3)
    expect(idsOf(merged.rows)).toEqual(['a', 'c', 'b'])
    return merged.isSure
  }
  expect([isSure(0.9), isSure(0.96)]).toEqual([false, true])
  // Fewer than were asked for are all of them.
  expect(isSure(0.2, 1)).toBe(true)
  expect(mergeNearest(byRows, [], 2)).toMatchObject({ rows: byRows, isSure: true })
})

test('passages count for what they were made of: the same key, model and vector', () => {
  const passages = { key: 'id', keyType: 'text', model: 'm', dimensions: 3, rows: 1, operators: [] } as const
  const entry = { columns: ['embedding'], model: 'm', dimensions: 3, content_columns: 'id, title' }
  const found = (change: object) =>
    passagesFor({ entry: { ...entry, ...change }, tableInfo: { passages } } as unknown as TableSearch)
  expect(found({})).toBe(passages)
  for (const change of [
    { columns: ['other'] },
    { model: 'n' },
    { dimensions: 4 },
    { content_columns: 'title,id' },
  ]) {
    expect(found(change)).toBe(undefined)
  }
})

test('hits go without their passage where it takes too long, and only there', async () => {
  const passages = { key: 'id', keyType: 'text', model: 'm', dimensions: 3, rows: 1, operators: [] }
  const search = {
    entry: {
      table: 't',
      columns: ['embedding'],
      model: 'm',
      dimensions: 3,
      content_columns: 'id,title',
      distance_metric: 'cosine',
    },
    tableInfo: { passages, columns: new Map() },
    vector: [1, 0, 0],
    filters: [],
    access: 'all',
    limit: 3,
  } as unknown as TableSearch
  const hits = [{ id: 'a', title: null, metadata: {} }]
  const failing = (code: string) =>
    ({ query: () => Promise.reject(Object.assign(new Error(), { code })) }) as unknown as Queries
  expect(await withNearestPassage(failing('57014'), search, hits)).toBe(hits)
  await expect(withNearestPassage(failing('42P01'), search, hits)).rejects.toMatchObject({ code: '42P01' })
})
