import { expect, test } from 'vitest'
import type { Hit } from '../../contracts/data-sources.ts'
import { judgeHits } from './expected-rows.ts'

const row = (id: string, score = 0.5, target = 'notes'): Hit => ({
  id,
  title: id,
  metadata: { _score: score, _target: target },
})
const passage = (id: string, path: string, heading: string, passages?: Hit['passages']): Hit => ({
  id,
  title: path,
  ...(passages && { passages }),
  metadata: { _score: 0.5, _target: 'passages', path, heading },
})

const LEAVE = passage('p1', 'hr/leave.md', 'Leave > Parental leave > How to ask', [
  { id: 'p2', heading: 'Leave > Sick days', passage: '…' },
])
const HITS = [passage('p9', 'it/mail.md', 'Mail'), LEAVE]

test.each([
  ['an id', ['p1'], 2],
  ['the id of a further passage', ['p2'], 2],
  ['a path', ['hr/leave.md'], 2],
  ['a heading as people write it', ['hr/leave.md#Parental leave'], 2],
  ['a heading as links have it', ['hr/leave.md#parental-leave'], 2],
  ['the heading of a further passage', ['hr/leave.md#Sick days'], 2],
  ['a part of a heading', ['hr/leave.md#Parental'], null],
  ['the heading of another document', ['it/mail.md#Sick days'], null],
  ['a part of a path', ['leave.md'], null],
  ['the first of several', ['hr/leave.md', 'it/mail.md'], 1],
])('%s', (_, expected, rank) => {
  expect(judgeHits(expected, HITS).rank).toBe(rank)
})

test('recall counts those expected among the first five, each once; the rank is looked for among all', () => {
  const hits = Array.from({ length: 10 }, (_, at) => row(`r${at + 1}`))
  expect(judgeHits(['r2', 'r2', 'r6', 'r9', 'nowhere'], hits)).toMatchObject({
    rank: 2,
    recall: 1 / 4,
    missing: ['r6', 'r9', 'nowhere'],
  })
  expect(judgeHits(['r6'], hits)).toMatchObject({ rank: 6, recall: 0, missing: ['r6'] })
})

test('where nothing is expected there is no recall, and nothing is missing', () => {
  expect(judgeHits([], [row('r1')])).toEqual({
    rank: null,
    recall: null,
    missing: [],
    scores: [{ target: 'notes', score: 0.5, found: false }],
  })
})

test('each table has its best score, and whether an expected row was among its first', () => {
  const hits = [row('a', 0.4), row('b', 0.7), row('c', 0.6, 'pages'), row('z', Number.NaN, 'zero')]
  expect(judgeHits(['a'], hits).scores).toEqual([
    { target: 'notes', score: 0.7, found: true },
    { target: 'pages', score: 0.6, found: false },
  ])
})
