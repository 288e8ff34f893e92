import { expect, test } from 'vitest'
import { startupPacket } from '../../test/support/wire-client.ts'
import { readStartupPacket, readTimeout } from './startup.ts'

test('settings are kept apart from who and where; blank options are ignored', () => {
  const packet = startupPacket({ user: 'me', options: ' '.repeat(1024), 'hnsw.ef_search': '40' })
  expect(readStartupPacket(packet)).toEqual({
    kind: 'login',
    user: 'me',
    database: 'me',
    settings: [['hnsw.ef_search', '40']],
    unsupportedOptions: undefined,
  })
})

test.each([
  ['250', 250],
  ['250ms', 250],
  [' 2 s ', 2000],
  ['1.5min', 90_000],
  ['0', 0],
  ['-1', 0],
  ['soon', 0],
])('a statement_timeout of %o is %d ms', (text, expected) => {
  expect(readTimeout([['Statement_Timeout', text]])).toBe(expected)
})
