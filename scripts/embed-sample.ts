/** Embeds the sample's texts with the built-in model, so that a first start does not have to: run it when they change. */
import { writeFileSync } from 'node:fs'
import { createEmbeddingModels } from '../src/adapters/embeddings/index.ts'
import { BUILT_IN_MODEL } from '../src/contracts/embedding-settings.ts'
import { sampleTexts, textDigest } from './sample-texts.ts'

const models = createEmbeddingModels(new Map())
const texts = sampleTexts()
const vectors: ArrayLike<number>[] = []
for (const text of texts) {
  vectors.push(await models.embed('sample', BUILT_IN_MODEL.name, text))
  process.stdout.write(`\r${vectors.length} of ${texts.length}`)
}
process.stdout.write('\n')
await models.close()
/** Half precision, like the weights of the model: it changes no ranking and halves the file. */
const bytes = Buffer.from(Float16Array.from(vectors.flatMap((vector) => Array.from(vector))).buffer)
const file = { model: BUILT_IN_MODEL.name, texts: textDigest(texts), vectors: bytes.toString('base64') }
writeFileSync(new URL('../src/sample/vectors.json', import.meta.url), `${JSON.stringify(file, null, 2)}\n`)
