import { expect, test } from 'vitest'
import { errorIn, fillPath, requestParts } from './request-parts.ts'

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

const JSON_TYPE = { 'content-type': 'application/json' }

test.each([
  ['get', { a: 'x&y', b: 3, c: true, d: undefined }, ['GET', '/api/s?a=x%26y&b=3&c=true', {}, undefined]],
  ['get', {}, ['GET', '/api/s', {}, undefined]],
  ['DELETE', { a: ['x', 'y'] }, ['DELETE', '/api/s?a=%5B%22x%22%2C%22y%22%5D', {}, undefined]],
  ['post', { a: 1, b: undefined }, ['POST', '/api/s', JSON_TYPE, '{"a":1}']],
  ['patch', {}, ['PATCH', '/api/s', JSON_TYPE, '{}']],
])('what a %s with %j carries', (method, more, [as, path, headers, body]) => {
  const parts = requestParts({ method, path: '/api/{name}' }, { name: 's', ...more })
  expect(parts).toEqual({ method: as, path, headers, body })
})

test('bytes have the type that is said of them, or the first that is taken; the rest is the query', () => {
  const shape = { method: 'put', path: '/api', takes: 'text/csv' }
  const body = new Uint8Array([1])
  const sent = (more: object) => requestParts(shape, { body, ...more })
  expect(sent({ offset: 0 })).toMatchObject({
    path: '/api?offset=0',
    headers: { 'content-type': 'text/csv' },
    body,
  })
  expect(sent({ content_type: 'text/plain' })).toMatchObject({
    path: '/api',
    headers: { 'content-type': 'text/plain' },
  })
})

test('fields that are headers are sent in no other way', () => {
  const shape = { method: 'get', path: '/api', headers: { secret: 'x-secret', other: 'x-other' } }
  expect(requestParts(shape, { secret: 's', other: undefined, a: 'b' })).toMatchObject({
    path: '/api?a=b',
    headers: { 'x-secret': 's' },
  })
})

test('an error of ours is read whole; one of a proxy is none, and a code of a newer server is left out', () => {
  const answered = (error: object, retryAfter?: string) => errorIn({ error }, retryAfter)
  const none = { hint: undefined, problems: undefined, retryAfterSeconds: undefined }
  expect(answered({ code: 'NOT_FOUND', message: 'No', hint: 'Look', problems: ['a', 1] }, '17')).toEqual({
    code: 'NOT_FOUND',
    message: 'No',
    hint: 'Look',
    problems: ['a', '1'],
    retryAfterSeconds: 17,
  })
  const odd = answered({ code: 'NOT_FOUND', message: 'No', hint: 1, problems: 'a' }, 'Tomorrow')
  expect(odd).toEqual({ code: 'NOT_FOUND', message: 'No', ...none })
  for (const code of ['TOO_MODERN', 'toString', undefined])
    expect(answered({ code, message: 'No' }, '-1')).toEqual({ code: undefined, message: 'No', ...none })
  for (const body of [undefined, null, 'no', [], { error: 'no' }, { error: { code: 'NOT_FOUND' } }])
    expect(errorIn(body, undefined)).toBeUndefined()
})
