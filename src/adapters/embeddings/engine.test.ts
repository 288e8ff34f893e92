/** The kernel and the tokenizer together, against the vectors of the engine before; test/long/golden-embeddings.test.ts asks for all. */
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { COSINE_MIN, cosine, readGolden } from '../../../test/support/golden-embeddings.ts'
import { createEngine, type Engine } from './engine.ts'
import type { Numbers, Weights } from './kernel.ts'
import { builtInFolder, readTokenizer } from './model-folder.ts'
import { createTokenizer, type Tokenize } from './tokenizer.ts'
import { loadWeights } from './weights.ts'

const model = builtInFolder()
let tokenize: Tokenize
beforeAll(() => {
  tokenize = createTokenizer(readTokenizer(model), model.tokensMax)
})

describe.each<Numbers>(['int16', 'float'])('with numbers of %s', (numbers) => {
  let weights: Weights
  let engine: Engine
  beforeAll(() => {
    weights = loadWeights(model, numbers)
    engine = createEngine(model, weights)
  })

  test('vectors are those of the engine before', () => {
    for (const { text, vector } of readGolden().filter((_, at) => at % 100 === 7)) {
      expect(cosine(engine(tokenize(text)), vector), text).toBeGreaterThan(COSINE_MIN)
    }
  })

  test.runIf(inject('everyCase'))(
    'a vector depends on its own text alone, whatever was embedded before',
    () => {
      const short = tokenize('Refunds')
      const before = engine(short)
      engine(tokenize('many words '.repeat(200)))
      expect(engine(short)).toEqual(before)
    },
  )

  test('threads share the weights and nothing else', () => {
    const [a, b] = [tokenize('Where is my parcel?'), tokenize('The cat sleeps on the warm roof.')]
    const alone = [engine(a), engine(b)]
    const [one, two] = [createEngine(model, weights, 0), createEngine(model, weights, 1)]
    expect([one(a), two(b)]).toEqual(alone)
    expect([one(a), two(b)]).toEqual(alone)
  })
})

describe.runIf(inject('everyCase'))('a text that nobody writes has a vector', () => {
  let engine: Engine
  beforeAll(() => {
    engine = createEngine(model, loadWeights(model))
  })
  const MIB = 1024 * 1024
  test.each([
    ['nothing', '', 2],
    ['blanks', ' \n\t'.repeat(1000), 2],
    ['1 MiB of NULs', '\0'.repeat(MIB), 2],
    ['one word of 1 MiB', 'x'.repeat(MIB), 3],
    ['1 MiB of words', 'word '.repeat(MIB / 5), 256],
    ['1 MiB of marks', '!'.repeat(MIB), 256],
    ['1 MiB of accents in no order', `a${'\u0301\u0316'.repeat(MIB / 2)}`, 3],
    ['1 MiB of special tokens', '[MASK]'.repeat(MIB / 6), 256],
    ['1 MiB of brackets', '['.repeat(MIB), 256],
    ['1 MiB of ideographs', '\u6F22'.repeat(MIB), 256],
    ['halves of characters', '\uD83D'.repeat(1000), 2],
    ['every character there is', everyCharacter(), 256],
    ['words of 100 letters whose last piece is unknown', `${'z'.repeat(99)}\u2603 `.repeat(10_000), 256],
  ])('%s', (_, text, count) => {
    const tokens = tokenize(text)
    expect(tokens).toHaveLength(count)
    const vector = engine(tokens)
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  })
})

function everyCharacter(): string {
  let text = ''
  for (let code = 0; code <= 0x10ffff; code += 1) text += String.fromCodePoint(code)
  return text
}
