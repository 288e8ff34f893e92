import { expect, test } from 'vitest'
import type { Ending, ModelTurn } from '../../contracts/model-port.ts'
import { verdictOf } from './verdict.ts'

const turn = (ending: Ending, ...words: readonly string[]): ModelTurn => ({
  text: 'pass',
  calls: words.map((verdict, n) => ({
    id: String(n),
    name: 'verdict',
    arguments: JSON.stringify({ verdict }),
  })),
  echo: [],
  ending,
  tokens: 1,
})

test('is what the call says, whichever of the two words ends a turn with a call', () => {
  expect(verdictOf(turn('tool_calls', 'fail'))).toBe('fail')
  expect(verdictOf(turn('stop', 'pass'))).toBe('pass')
})

test.each([
  ['prose', turn('stop')],
  ['two', turn('tool_calls', 'pass', 'fail')],
  ['a word that is none', turn('tool_calls', 'healthy')],
  ['one that was cut off', turn('length', 'pass')],
  ['one that was filtered', turn('other', 'pass')],
  ['arguments that are none', { ...turn('stop'), calls: [{ id: '1', name: 'verdict', arguments: 'null' }] }],
  ['another tool', { ...turn('stop'), calls: [{ id: '1', name: 'shell', arguments: '{"verdict":"pass"}' }] }],
])('%s is no verdict', (_what, given) => {
  expect(verdictOf(given)).toBeUndefined()
})
