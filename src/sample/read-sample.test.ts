import { expect, test } from 'vitest'
import { createEmbeddingModels } from '../adapters/embeddings/index.ts'
import { BUILT_IN_MODEL } from '../contracts/embedding-settings.ts'
import { sampleTexts, textDigest } from '../../scripts/sample-texts.ts'
import { readSample, readVectors } from './read-sample.ts'

test('the vectors of the sample are those of its texts: scripts/embed-sample.ts makes them anew', async () => {
  const texts = sampleTexts()
  const { texts: digest, vectors } = readVectors()
  expect(digest).toBe(textDigest(texts))
  expect(vectors).toHaveLength(texts.length)
  const models = createEmbeddingModels(new Map())
  const fresh = await models.embed('test', BUILT_IN_MODEL.name, texts[3]!)
  await models.close()
  const cosine = vectors[3]!.reduce((sum, value, at) => sum + value * fresh[at]!, 0)
  expect(cosine).toBeGreaterThan(0.999)
})

test('every row of the sample has a vector of the right size', () => {
  const { handbook, products } = readSample()
  for (const { embedding } of [...handbook, ...products]) {
    expect(embedding).toHaveLength(BUILT_IN_MODEL.dimensions)
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 2)
  }
})
