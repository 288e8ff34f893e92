import { expect, test } from 'vitest'
import type { Hit } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { foundRows, fuseLegs } from './hybrid-rows.ts'
import type { VectorSearch } from './table-search.ts'

const hit = (id: string, _score: number, more: object = {}): Hit => ({
  id,
  title: null,
  metadata: { ...more, _score, _target: 't' },
})
const meaning = (scores: Readonly<Record<string, number>>) =>
  Object.entries(scores).map(([id, score]) => hit(id, score))
const words = (worths: Readonly<Record<string, number>>) =>
  Object.entries(worths).map(([id, worth]) => ({ hit: hit(id, 0), worth }))
const idsOf = (hits: readonly Hit[]) => hits.map(({ id }) => id)
const all = { searched: 50, limit: 50 }

test('how far apart two rows are counts, not only which is before which', () => {
  // By ranks `a` would be before `b`: first and third against twice second.
  const fused = fuseLegs(meaning({ a: 0.9, b: 0.89, z: 0.1 }), words({ c: 10, b: 9.9, a: 1 }), all)
  expect(idsOf(fused)).toEqual(['b', 'a', 'c', 'z'])
})

test('both legs count alike, whatever their scale', () => {
  const small = fuseLegs(meaning({ a: 0.02, b: 0.01, c: 0 }), words({ c: 900, b: 500 }), all)
  expect(idsOf(small)).toEqual(['b', 'a', 'c'])
  const negative = fuseLegs(meaning({ a: -1, b: -2, c: -3 }), words({ c: 9, b: 5 }), all)
  expect(idsOf(negative)).toEqual(['b', 'a', 'c'])
})

test('of few rows with a word even the last is worth something; the last of a full list is not', () => {
  const near = meaning({ m: 1, n: 0.7, o: 0 })
  expect(idsOf(fuseLegs(near, words({ x: 10, y: 9 }), all))).toEqual(['m', 'x', 'y', 'n', 'o'])
  expect(idsOf(fuseLegs(near, words({ x: 10, y: 9 }), { searched: 2, limit: 50 }))).toEqual([
    'm',
    'x',
    'n',
    'o',
    'y',
  ])
})

test('a leg whose rows are all alike leaves the order to the other', () => {
  expect(idsOf(fuseLegs(meaning({ a: 0.5, b: 0.5 }), words({ c: 3, d: 1 }), all))).toEqual([
    'c',
    'd',
    'a',
    'b',
  ])
  const full = { searched: 2, limit: 50 }
  expect(idsOf(fuseLegs(meaning({ a: 0.5, b: 0.2 }), words({ c: 3, b: 3 }), full))).toEqual(['a', 'b', 'c'])
})

test('of equals those of meaning come first', () => {
  expect(idsOf(fuseLegs(meaning({ a: 0.5, b: 0 }), words({ c: 3 }), all))).toEqual(['a', 'c', 'b'])
})

test('one leg alone keeps its order, and none at all is no hit', () => {
  expect(idsOf(fuseLegs(meaning({ a: 0.9, b: 0.1 }), [], all))).toEqual(['a', 'b'])
  expect(idsOf(fuseLegs([], words({ a: 9, b: 1 }), all))).toEqual(['a', 'b'])
  expect(fuseLegs([], [], all)).toEqual([])
})

test('a hit says which leg found it, has the score of meaning, and there are no more than asked for', () => {
  const [first, second, ...rest] = fuseLegs(meaning({ a: 0.9, b: 0.2 }), words({ b: 3, c: 1 }), {
    ...all,
    limit: 2,
  })
  expect(first).toEqual(hit('a', 0.9, { _mode: 'hybrid', _found_by: ['meaning'] }))
  expect(second).toEqual(hit('b', 0.2, { _mode: 'hybrid', _found_by: ['meaning', 'words'] }))
  expect(rest).toEqual([])
  expect(fuseLegs([], words({ c: 1 }), all)[0]?.metadata['_found_by']).toEqual(['words'])
})

test('of several rows with one id the best counts, once', () => {
  const fused = fuseLegs([hit('a', 0.9), hit('a', 0.8), hit('b', 0.7), hit('c', 0)], words({ b: 2 }), all)
  expect(idsOf(fused)).toEqual(['b', 'a', 'c'])
  expect(fused[1]?.metadata).toMatchObject({ _score: 0.9, _found_by: ['meaning'] })
})

/** Asks for both legs of a table whose rows, as a load changes them, are those of the versions that the statements see. */
async function askWhileLoading(seen: readonly string[], isLoaded = true) {
  const versions = seen.values()
  let statements = 0
  const queries = {
    query: async (text: string) => {
      statements += 1
      const version = versions.next().value ?? seen.at(-1)
      const row = { c0: version, c1: `of ${version}`, distance: 0.5, version }
      return [text.startsWith('with lexemes') ? { ...row, worth: 1 } : row]
    },
  } as unknown as Queries
  const entry = {
    label: 't',
    table: 't',
    columns: ['embedding'],
    content_columns: 'id,title',
    distance_metric: 'cosine',
    hybrid: true,
    text_search_column: 'words',
  }
  const search = {
    entry,
    tableInfo: { rows: 3, kind: 'r', columns: new Map(), indexes: [] },
    vector: [1, 0, 0],
    filters: [],
    access: 'all',
    limit: 3,
    versions: isLoaded ? new Set<string>() : undefined,
  } as unknown as VectorSearch
  return { ids: idsOf(await foundRows(queries, search, 'a question')), statements }
}

test('rows of two versions are no answer: both legs are asked again, and not without end', async () => {
  expect(await askWhileLoading(['new', 'new'])).toEqual({ ids: ['new'], statements: 2 })
  expect(await askWhileLoading(['old', 'new', 'new', 'new'])).toEqual({ ids: ['new'], statements: 4 })
  const changing = ['1', '2', '3', '4', '5', '6', '7', '8']
  expect((await askWhileLoading(changing)).statements).toBe(6)
  // Nobody loads into an attached database, whatever its server says.
  expect((await askWhileLoading(changing, false)).statements).toBe(2)
})
