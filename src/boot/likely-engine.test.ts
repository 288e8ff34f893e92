import { expect, test } from 'vitest'
import { isEngineLikely } from './likely-engine.ts'

test('the engine is loaded ahead for the whole installation with its embedded database, and for nobody else', () => {
  expect([isEngineLikely([], {}), isEngineLikely(['--empty'], { DATABASE_URL: '' })]).toEqual([true, true])
  expect([
    isEngineLikely([], { DATABASE_URL: 'postgres://db' }),
    isEngineLikely([], { SVC_SERVICES: 'console' }),
    isEngineLikely(['backup', 'file'], {}),
    isEngineLikely(['--version'], {}),
  ]).toEqual([false, false, false, false])
})
