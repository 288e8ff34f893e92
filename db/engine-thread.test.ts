import { expect, test } from 'vitest'
import { loadEngineAhead } from './engine-thread.ts'

test('a system without another thread for the engine ends no start: whoever needs it says so', () => {
  expect(() =>
    loadEngineAhead(() => {
      throw new Error('EAGAIN')
    }),
  ).not.toThrow()
})
