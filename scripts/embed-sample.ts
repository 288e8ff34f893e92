/** Embeds the sample's texts with the built-in model, so that a first start does not have to: run it when they change. */
import { writeFileSync } from 'node:fs'
import { createEmbeddingModels } from '../src/adapters/embeddings/index.ts'
import { BUILT_IN_MODEL } from '../src/contracts/embedding-settings.ts'
import { sampleTexts, textDigest, writeVectors } from '../src/sample/read-sample.ts'

const models = createEmbeddingModels(new Map())
const texts = sampleTexts()
const vectors: ArrayLike<number>[] = []
for (const text of texts) {
  vectors.push(await models.embed('sample', BUILT_IN_MODEL.name, text))
  process.stdout.write(`\r${vectors.length} of ${texts.length}`)
}
process.stdout.write('\n')
await models.close()
const file = { model: BUILT_IN_MODEL.name, texts: textDigest(texts), vectors: writeVectors(vectors) }
writeFileSync(new URL('../src/sample/vectors.json', import.meta.url), `${JSON.stringify(file, null, 2)}\n`)
