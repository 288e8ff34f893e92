/** Texts of the golden file, with both kinds of numbers: what was stored by the engine before is found by this one. */
import { expect, test } from 'vitest'
import { createEngine } from '../../src/adapters/embeddings/engine.ts'
import { builtInFolder, readTokenizer } from '../../src/adapters/embeddings/model-folder.ts'
import { createTokenizer } from '../../src/adapters/embeddings/tokenizer.ts'
import { loadWeights } from '../../src/adapters/embeddings/weights.ts'
import { COSINE_MIN, cosine, readGolden } from '../support/golden-embeddings.ts'

/** All of them with the numbers of x64; every fourth with those of arm64, whose sums are the same. */
test.each([
  ['int16', 1, 1_000],
  ['float', 4, 250],
] as const)('texts of many scripts with numbers of %s', { timeout: 30 * 60_000 }, (numbers, every, texts) => {
  const model = builtInFolder()
  const tokenize = createTokenizer(readTokenizer(model), model.tokensMax)
  const engine = createEngine(model, loadWeights(model, numbers))
  const golden = readGolden().filter((_, at) => at % every === 0)
  expect(golden).toHaveLength(texts)
  const apart = golden
    .map(({ text, vector }) => ({ text, cosine: cosine(engine(tokenize(text)), vector) }))
    .filter(({ cosine }) => !(cosine > COSINE_MIN))
  expect(apart).toEqual([])
})
