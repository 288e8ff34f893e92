import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { EmbeddingModelsSetting } from '../../contracts/embedding-settings.ts'
import { createEmbeddingModels } from './index.ts'

/** A thread that answers every question with the same vector. */
const PLAYED = `
  const { parentPort } = require('node:worker_threads')
  parentPort.postMessage({ loaded: {} })
  parentPort.on('message', () => parentPort.postMessage(new Float32Array(384).fill(1)))
`

/** The built-in model played by a thread, and a provider of three dimensions; both count. */
async function meet() {
  const counts = { threads: 0, requests: 0 }
  const server = createServer((_request, response) => {
    counts.requests += 1
    response.end(JSON.stringify({ data: [{ embedding: [1, 2, 3] }] }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const settings = EmbeddingModelsSetting.parse(JSON.stringify({ far: { url, dimensions: 3 } }))
  const models = createEmbeddingModels(settings, {
    startThread: () => {
      counts.threads += 1
      return new Worker(PLAYED, { eval: true })
    },
  })
  onTestFinished(async () => {
    await models.close()
    server.closeAllConnections()
    server.close()
  })
  return { models, counts }
}

test('names and dimensions are those of the built-in model and of the settings', async () => {
  const { models, counts } = await meet()
  expect(models.names).toEqual(['minilm-l6-v2', 'far'])
  expect(models.names.map((name) => models.dimensionsOf(name))).toEqual([384, 3])
  expect(['', 'near', 'toString', '__proto__'].map((name) => models.dimensionsOf(name))).toEqual(
    Array(4).fill(undefined),
  )
  expect(counts).toEqual({ threads: 0, requests: 0 })
})

test('each model answers by itself, and a question asked again is not embedded again', async () => {
  const { models, counts } = await meet()
  for (let time = 0; time < 2; time += 1) {
    expect(await models.embed('org_a', 'far', 'why?')).toEqual(new Float32Array([1, 2, 3]))
    expect(await models.embed('org_a', 'minilm-l6-v2', 'why?')).toEqual(new Float32Array(384).fill(1))
  }
  expect(counts).toEqual({ threads: 1, requests: 1 })
})

test('a model that is not configured gives no vector', async () => {
  const { models, counts } = await meet()
  await expect(models.embed('org_a', 'toString', 'why?')).rejects.toMatchObject({
    code: 'EMBEDDING_UNAVAILABLE',
  })
  expect(counts).toEqual({ threads: 0, requests: 0 })
})

test('after close the built-in model gives no vector', async () => {
  const { models } = await meet()
  await models.close()
  await expect(models.embed('org_a', 'minilm-l6-v2', 'why?')).rejects.toMatchObject({
    code: 'EMBEDDING_UNAVAILABLE',
  })
})

test('a model that cannot be loaded is a warning until it can', async () => {
  let isThere = false
  const models = createEmbeddingModels(new Map(), {
    startThread: () => new Worker(isThere ? PLAYED : "require('/no/such/weights')", { eval: true }),
  })
  onTestFinished(() => models.close())
  expect(models.warnings()).toEqual([])
  await expect(models.embed('org_a', 'minilm-l6-v2', 'why?')).rejects.toMatchObject({
    code: 'EMBEDDING_UNAVAILABLE',
  })
  expect(models.warnings()).toEqual([
    'the embedding model minilm-l6-v2 cannot be used: its thread failed: MODULE_NOT_FOUND',
  ])
  isThere = true
  await models.embed('org_a', 'minilm-l6-v2', 'why?')
  expect(models.warnings()).toEqual([])
})
