/** Every text of the golden file, with both kinds of numbers: what was stored by the engine before is found by this one. */
import { expect, test } from 'vitest'
import { createEngine } from '../../src/adapters/embeddings/engine.ts'
import { builtInFolder, readTokenizer } from '../../src/adapters/embeddings/model-folder.ts'
import { createTokenizer } from '../../src/adapters/embeddings/tokenizer.ts'
import { loadWeights } from '../../src/adapters/embeddings/weights.ts'
import { COSINE_MIN, cosine, readGolden } from '../support/golden-embeddings.ts'

test.each(['int16', 'float'] as const)(
  '1,000 texts of many scripts with numbers of %s',
  { timeout: 30 * 60_000 },
  (numbers) => {
    const model = builtInFolder()
    const tokenize = createTokenizer(readTokenizer(model), model.tokensMax)
    const engine = createEngine(model, loadWeights(model, numbers))
    const golden = readGolden()
    expect(golden).toHaveLength(1000)
    const apart = golden
      .map(({ text, vector }) => ({ text, cosine: cosine(engine(tokenize(text)), vector) }))
      .filter(({ cosine }) => !(cosine > COSINE_MIN))
    expect(apart).toEqual([])
  },
)
