import { expect, test } from 'vitest'
import { fillPath } from './fill-path.ts'

test.each([
  ['shop', '/api/apps/shop/logs'],
  ['a/b?c#d', '/api/apps/a%2Fb%3Fc%23d/logs'],
  ['..', '/api/apps/%252E%252E/logs'],
  ['.', '/api/apps/%252E/logs'],
  ['...', '/api/apps/.../logs'],
  ['%2e%2e', '/api/apps/%252e%252e/logs'],
])('%s stays one part of the path, also where a URL is made of it', (alias, path) => {
  expect(fillPath('/api/apps/{alias}/logs', { alias }).path).toBe(path)
  expect(new URL(path, 'https://api.example.com').pathname).toBe(path)
})

test('what is not in the path, and was given, is left', () => {
  expect(fillPath('/api/apps/{alias}', { alias: 'shop', name: 'Shop', hint: undefined })).toEqual({
    path: '/api/apps/shop',
    rest: { name: 'Shop' },
  })
})
