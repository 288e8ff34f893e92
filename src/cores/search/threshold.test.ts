import { describe, expect, test } from 'vitest'
import type { Hit, SearchConfiguration } from '../../contracts/data-sources.ts'
import { bestSplit, isWeak, learnThreshold, presentThresholds } from './threshold.ts'

const scoresOf = (found: readonly number[], others: readonly number[] = [], target = 'notes') => [
  ...found.map((score) => ({ target, score, found: true })),
  ...others.map((score) => ({ target, score, found: false })),
]

describe('the score that tells answers from what only came nearest', () => {
  test.each([
    ['all answers, where nothing else came', scoresOf([0.9, 0.5, 0.7, 0.8, 0.6]), 0.5],
    ['between them, where they lie apart', scoresOf([0.9, 0.8, 0.7, 0.6, 0.5], [0.1, 0.4]), 0.5],
    ['gives up an answer among the others', scoresOf([0.9, 0.8, 0.7, 0.6, 0.1], [0.2, 0.3, 0.4]), 0.6],
    ['of equals the lowest', scoresOf([0.9, 0.8, 0.7, 0.6, 0.5], [0.95]), 0.5],
    ['never above the answer it is taken from', scoresOf([0.123_49, 0.5, 0.5, 0.5, 0.5]), 0.1234],
    ['distances and products may be below zero', scoresOf([-0.123_41, 1, 1, 1, 1]), -0.1235],
    ['four answers are too few', scoresOf([0.9, 0.8, 0.7, 0.6], [0.1]), undefined],
  ])('%s', (_, scores, expected) => {
    expect(bestSplit(scores)).toBe(expected)
  })
})

const configurationOf = (more: object = {}) =>
  ({
    connection_config: {
      embedding_configs: [
        {
          label: 'notes',
          table: 'notes',
          columns: ['embedding'],
          model: 'small',
          dimensions: 3,
          content_columns: 'id,title',
          distance_metric: 'cosine',
          ...more,
        },
      ],
    },
    filter_schema: {},
  }) as SearchConfiguration

const hit = (score: unknown, target = 'notes'): Hit => ({
  id: 'n1',
  title: null,
  metadata: { _score: score, _target: target },
})

describe('a threshold', () => {
  const learned = learnThreshold(
    { configuration: configurationOf(), threshold: null },
    'evl_1',
    scoresOf([0.5, 0.6, 0.7, 0.8, 0.9]),
  )!
  const source = { configuration: configurationOf(), threshold: learned }
  const weak = (hits: readonly Hit[], of: typeof source | undefined = source) => isWeak(hits, () => of)

  test('marks an answer of which no hit reaches it', () => {
    expect(weak([hit(0.49), hit(0.1)])).toBe(true)
    expect(weak([hit(0.1), hit(0.5)])).toBe(false)
    expect(weak([hit(Number.NaN)])).toBe(true)
    expect(weak([])).toBe(false)
  })

  test('says nothing of hits of another table or source', () => {
    expect(weak([hit(0.1), hit(0.1, 'pages')])).toBe(false)
    expect(isWeak([hit(0.1)], () => undefined)).toBe(false)
    expect(weak([hit(0.1)], { ...source, threshold: null as never })).toBe(false)
  })

  test.each([{ model: 'large' }, { hybrid: true }, { distance_metric: 'l2' }, { table: 'other' }])(
    'does not apply to a table that is searched in another way: %o',
    (more) => {
      const changed = { configuration: configurationOf(more), threshold: learned }
      expect(weak([hit(0.1)], changed)).toBe(false)
      expect(presentThresholds(changed)).toEqual([{ target: 'notes', score: 0.5, applies: false }])
    },
  )

  test('is neither learned for nor applied to a table that is searched by words alone', () => {
    const byWords = configurationOf({ columns: [], model: undefined, hybrid: true })
    const scores = scoresOf([5, 6, 7, 8, 9])
    expect(learnThreshold({ configuration: byWords, threshold: null }, 'evl_1', scores)).toBeUndefined()
    // One from when they had one.
    const of = JSON.stringify(['notes', [], undefined, 'cosine', true])
    const old = {
      configuration: byWords,
      threshold: { evalId: 'evl_1', targets: { notes: { score: 5, of } } },
    }
    expect(weak([hit(0.1)], old)).toBe(false)
    expect(presentThresholds(old)).toEqual([{ target: 'notes', score: 5, applies: false }])
  })

  test('applies on where only what is shown has changed', () => {
    const changed = {
      configuration: configurationOf({ content_columns: 'id,title,body' }),
      threshold: learned,
    }
    expect(presentThresholds(changed)).toEqual([{ target: 'notes', score: 0.5, applies: true }])
  })
})
