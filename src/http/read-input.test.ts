import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { queryDataSource } from '../contracts/data-sources.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { HttpEnv } from './context.ts'
import { inputReader } from './read-input.ts'

/** Says what was read of a body, or why it was refused. */
async function read(body: string | Uint8Array<ArrayBuffer>, type = 'application/json'): Promise<unknown> {
  const app = new Hono<HttpEnv>()
  const readInput = inputReader(queryDataSource)
  app.post('/:source_id', async (c) => c.json(await readInput(c)))
  app.onError((error, c) => {
    if (!(error instanceof ServiceError)) throw error
    return c.json({ refused: error.code, message: error.message })
  })
  const headers = { 'content-type': type }
  return (await app.request('/db_docs', { method: 'POST', headers, body })).json()
}

test.each([
  '{"query":"q","filters":{"__proto__":"x"}}',
  '{"query":"q","filters":{"year":1,"__proto__":["x"]}}',
  String.raw`{"query":"q","filters":{"\u005f_proto__":"x"}}`,
  '{"query":"q","filters":{"year":[{"__proto__":null}]}}',
  '{"query":"q","__proto__":{"filters":{}}}',
  `{"query":"q","filters":${'['.repeat(20_000)}{"__proto__":1}${']'.repeat(20_000)}}`,
])('a key named __proto__ is refused, not ignored: %#', async (body) => {
  expect(await read(body)).toEqual({
    refused: 'INVALID_REQUEST',
    message: 'A key must not be named __proto__',
  })
})

test('__proto__ as a value and keys that only look dangerous are read', async () => {
  const filters = { constructor: 'a', toString: 'b', proto: '__proto__' }
  expect(await read(JSON.stringify({ query: '__proto__', filters }))).toMatchObject({
    query: '__proto__',
    filters,
  })
})

test.each([
  '{"query":"a\\u0000"}',
  '{"query":"q","filters":{"a\\u0000":1}}',
  '{"query":"q","filters":{"a":["\\u0000"]}}',
])('a NUL is refused anywhere: %s', async (body) => {
  expect(await read(body)).toEqual({
    refused: 'INVALID_REQUEST',
    message: 'Text must not contain the NUL character',
  })
})

test('a body that names something else than the address is refused, and not passed over', async () => {
  const question = { query: 'q' }
  expect(await read(JSON.stringify({ ...question, source_id: 'db_other' }))).toMatchObject({
    refused: 'INVALID_REQUEST',
  })
  expect(await read(JSON.stringify({ ...question, source_id: 'db_docs' }))).toMatchObject({
    source_id: 'db_docs',
  })
})

test('a body is an object of JSON in UTF-8 that says so, or it is refused; none at all is an empty one', async () => {
  const question = '{"query":"q"}'
  const refused = (message: string) => ({ refused: 'INVALID_REQUEST', message })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', ''])
    expect(await read(question, type)).toEqual(refused('The body must be JSON'))
  expect(await read(question, 'Application/JSON; charset=utf-8')).toMatchObject({ query: 'q' })
  for (const body of [
    '{"query":',
    `${question},`,
    new Uint8Array([...Buffer.from('{"query":"'), 0xff, 0x22, 0x7d]),
  ])
    expect(await read(body)).toEqual(refused('The body is not valid JSON'))
  for (const body of ['null', '[]', '"query"', '1'])
    expect(await read(body)).toEqual(refused('The body must be a JSON object'))
  expect(await read('', 'text/plain')).toMatchObject({
    refused: 'INVALID_REQUEST',
    message: expect.not.stringMatching('JSON'),
  })
})
