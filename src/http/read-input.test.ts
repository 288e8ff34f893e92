import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { queryDataSource } from '../contracts/data-sources.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { HttpEnv } from './context.ts'
import { inputReader } from './read-input.ts'

/** Says what was read of a body, or why it was refused. */
async function read(body: string): Promise<unknown> {
  const app = new Hono<HttpEnv>()
  const readInput = inputReader(queryDataSource)
  app.post('/:source_id', async (c) => c.json(await readInput(c)))
  app.onError((error, c) => {
    if (!(error instanceof ServiceError)) throw error
    return c.json({ refused: error.code, message: error.message })
  })
  const headers = { 'content-type': 'application/json' }
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
