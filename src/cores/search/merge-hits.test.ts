import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Hit } from '../../contracts/data-sources.ts'
import { mergeHits, type RankedList } from './merge-hits.ts'

const scoreOf = (hit: Hit) => hit.metadata['_score'] as number

/** Few scores and few groups, so that ties and shared groups are the rule. */
const lists: fc.Arbitrary<RankedList[]> = fc
  .array(
    fc.record({
      group: fc.constantFrom('cosine a', 'cosine b', 'l2 a'),
      scores: fc.array(fc.constantFrom(0.9, 0.8, 0.5, 0, -1), { maxLength: 6 }),
    }),
    { maxLength: 6 },
  )
  .map((drawn) =>
    drawn.map(({ group, scores }, list) => ({
      group,
      hits: scores
        .toSorted((a, b) => b - a)
        .map((_score, rank) => ({
          id: `${list}.${rank}`,
          title: null,
          metadata: { _score, _target: `target ${list}` },
        })),
    })),
  )
const limit = fc.integer({ min: 0, max: 40 })

const namesOf = (hits: readonly Hit[]) => hits.map(({ id }) => id)
const allHits = (of: readonly RankedList[]) => of.flatMap(({ hits }) => hits)

test('no hit is lost up to the limit, none is invented, none stands twice', () => {
  fc.assert(
    fc.property(lists, limit, (given, most) => {
      const merged = namesOf(mergeHits(given, most))
      const all = namesOf(allHits(given))
      expect(merged).toHaveLength(Math.min(most, all.length))
      expect(new Set(merged).size).toBe(merged.length)
      expect(all).toEqual(expect.arrayContaining(merged))
    }),
  )
})

test('a smaller limit gives the beginning of the same list', () => {
  fc.assert(
    fc.property(lists, limit, (given, most) => {
      expect(mergeHits(given, most)).toEqual(mergeHits(given, 1_000).slice(0, most))
    }),
  )
})

test('no list changes its own order', () => {
  fc.assert(
    fc.property(lists, (given) => {
      const merged = namesOf(mergeHits(given, 1_000))
      for (const { hits } of given) {
        const own = new Set(namesOf(hits))
        expect(merged.filter((id) => own.has(id))).toEqual(namesOf(hits))
      }
    }),
  )
})

test('one group is sorted by score, equals in the order of lists', () => {
  fc.assert(
    fc.property(lists, (given) => {
      const one = given.map(({ hits }) => ({ group: 'same', hits }))
      expect(mergeHits(one, 1_000)).toEqual(allHits(one).toSorted((a, b) => scoreOf(b) - scoreOf(a)))
    }),
  )
})

test('several groups are fused by 1/(60 + rank), equals in the order in which groups first appear', () => {
  fc.assert(
    fc.property(lists, (given) => {
      const fused = [...new Set(given.map(({ group }) => group))]
        .flatMap((group) =>
          mergeHits(
            given.filter((list) => list.group === group),
            1_000,
          ).map((hit, at) => ({ hit, weight: 1 / (60 + at + 1) })),
        )
        .toSorted((a, b) => b.weight - a.weight)
      expect(mergeHits(given, 1_000)).toEqual(fused.map(({ hit }) => hit))
    }),
  )
})

test('where lists of different groups stand among each other does not matter', () => {
  fc.assert(
    fc.property(lists, (given) => {
      const groups = [...new Set(given.map(({ group }) => group))]
      const together = groups.flatMap((group) => given.filter((list) => list.group === group))
      expect(mergeHits(together, 1_000)).toEqual(mergeHits(given, 1_000))
    }),
  )
})

test('the order of lists matters to equals only', () => {
  fc.assert(
    fc.property(lists, (given) => {
      const one = given.map(({ hits }) => ({ group: 'same', hits }))
      expect(mergeHits(one.toReversed(), 1_000).map(scoreOf)).toEqual(mergeHits(one, 1_000).map(scoreOf))
    }),
  )
})

test('what is given stays as it was', () => {
  fc.assert(
    fc.property(lists, limit, (given, most) => {
      const before = structuredClone(given)
      mergeHits(given, most)
      expect(given).toEqual(before)
    }),
  )
})

test('a score that is no number comes last', () => {
  const hit = (id: string, _score: unknown): Hit => ({ id, title: null, metadata: { _score, _target: 't' } })
  const given = [
    { group: 'g', hits: [hit('nan', NaN)] },
    { group: 'g', hits: [hit('low', -5), hit('none', undefined)] },
  ]
  expect(namesOf(mergeHits(given, 10))).toEqual(['low', 'nan', 'none'])
})
