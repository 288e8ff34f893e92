import { expect, test } from 'vitest'
import { mergeNearest, passagesFor } from './row-passages.ts'
import type { TableSearch } from './table-search.ts'

const row = (id: string, distance: number) => ({ c0: id, distance })
const ofPassage = (id: string, distance: number, { searched = 150, farthest = 0.9 } = {}) => ({
  ...row(id, distance),
  searched,
  farthest,
})
const idsOf = (rows: readonly Readonly<Record<string, unknown>>[] | undefined) =>
  rows?.map((found) => found['c0'])

test('a row is as near as the nearest of its vectors, and comes once', () => {
  const byRows = [row('a', 0.1), row('b', 0.3), row('c', 0.4)]
  const byPassages = [ofPassage('c', 0.05), ofPassage('d', 0.2), ofPassage('a', 0.5)]
  expect(mergeNearest(byRows, byPassages, { limit: 3, isFiltered: true })).toMatchObject([
    { c0: 'c', distance: 0.05 },
    { c0: 'a', distance: 0.1 },
    { c0: 'd', distance: 0.2 },
  ])
})

test('equals go by their id, byte by byte', () => {
  const all = [ofPassage('Z', 0.1, { searched: 1 })]
  expect(idsOf(mergeNearest([row('é', 0.1), row('a', 0.1)], all, { limit: 3, isFiltered: false }))).toEqual([
    'Z',
    'a',
    'é',
  ])
})

test('nothing is said where a passage that was not looked at may be nearer', () => {
  const byRows = [row('a', 0.1), row('b', 0.95)]
  const merge = (farthest: number, isFiltered: boolean, searched = 150) =>
    idsOf(mergeNearest(byRows, [ofPassage('c', 0.2, { searched, farthest })], { limit: 3, isFiltered }))
  expect(merge(0.9, true)).toBe(undefined)
  expect(merge(0.96, true)).toEqual(['a', 'c', 'b'])
  // Fewer than were asked for are all of them, unless the index has given up on a filter.
  expect(merge(0.2, false, 1)).toEqual(['a', 'c', 'b'])
  expect(merge(0.2, true, 1)).toBe(undefined)
  expect(idsOf(mergeNearest(byRows, [], { limit: 2, isFiltered: true }))).toBe(undefined)
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
