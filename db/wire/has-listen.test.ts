import { expect, test } from 'vitest'
import { hasListen } from './has-listen.ts'

test.each([
  'listen a',
  'LISTEN "a"',
  ' /* b */ Listen a;',
  'select 1; listen a',
  '-- first\nlisten a',
  'begin;listen a;commit',
])('%s', (sql) => expect(hasListen(sql)).toBe(true))

test.each([
  'unlisten *',
  `select 'listen a'`,
  'select listen from t',
  'select 1 -- ; listen a',
  '$$; listen a$$',
  'listener a',
  '"listen" a',
])('not in: %s', (sql) => expect(hasListen(sql)).toBe(false))
