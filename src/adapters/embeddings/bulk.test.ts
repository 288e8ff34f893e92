/** Texts in bulk: another form than questions, and closed at a provider until the operator opens it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readJson } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { EmbeddingModelsSetting } from '../../contracts/embedding-settings.ts'
import { createEmbeddingModels } from './index.ts'

async function meet(settings: Record<string, unknown>) {
  const bodies: unknown[] = []
  const server = createServer((request, response) => {
    void readJson(request).then((body) => {
      bodies.push(body)
      response.end(JSON.stringify({ data: [{ embedding: [1, 2, 3] }] }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const models = createEmbeddingModels(
    EmbeddingModelsSetting.parse(JSON.stringify({ far: { url, dimensions: 3, ...settings } })),
  )
  onTestFinished(async () => {
    await models.close()
    server.closeAllConnections()
    server.close()
  })
  return { models, bodies }
}

test('a model of a provider is closed to them until it is opened; the built-in one is open', async () => {
  expect((await meet({})).models.takesBulk('far')).toBe(false)
  const { models } = await meet({ bulk: true })
  expect(['far', 'minilm-l6-v2', 'near', 'toString'].map((name) => models.takesBulk(name))).toEqual([
    true,
    true,
    false,
    false,
  ])
})

test('they are sent as passages, and a question of the same words is another text', async () => {
  const { models, bodies } = await meet({
    query_prefix: 'query: ',
    passage_prefix: 'passage: ',
    extra: { input_type: 'query' },
    passage_extra: { input_type: 'document' },
  })
  await models.embed('org_a', 'far', 'tents')
  await models.embed('org_a', 'far', 'tents', { kind: 'bulk' })
  await models.embed('org_a', 'far', 'tents', { kind: 'bulk' })
  expect(bodies).toMatchObject([
    { input: 'query: tents', input_type: 'query' },
    { input: 'passage: tents', input_type: 'document' },
  ])
})

test('what a text counts is known before it is sent: no more than the model reads', async () => {
  const { models } = await meet({})
  expect(models.tokensOf('minilm-l6-v2', 'two words')).toBe(4)
  expect(models.tokensOf('minilm-l6-v2', 'word '.repeat(10_000))).toBe(258)
  expect(models.tokensOf('far', 'x'.repeat(401))).toBe(101)
})
