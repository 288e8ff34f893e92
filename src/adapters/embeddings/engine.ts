/** One text through the model, as in the paper (Devlin et al., 2018): tokens, embeddings, layers, and the mean of what is left. */
import type { ModelFolder } from './model-folder.ts'
import { BLOCK_MAX, startKernel, takePlaces, type Dense, type Weights } from './kernel.ts'

/** Tokens become a vector of length one. */
export type Engine = (tokens: readonly number[]) => Float32Array

/** Rows that the kernel may touch behind the last one. */
const SPARE_ROWS = 3

/** `thread`: the number of its part of the memory, which no other thread uses at the same time. */
export function createEngine(model: ModelFolder, weights: Weights, thread = 0): Engine {
  const { width, heads, inner, epsilon, tokensMax, pooling } = model
  const { memory, numbers, words, positions, segment, norm, layers } = weights
  const run = startKernel(weights)
  const sizes = scratchSizes(model)
  const take = takePlaces(memory, weights.end + thread * scratchBytes(model))
  const [tokensAt, x, y, wide, scratch, integers, scales, out] = sizes.map(take) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]

  /** c = a · dense + bias, of `n` rows. */
  function multiply(
    a: number,
    { at, scales: columns, bias, columns: count, rows, block }: Dense,
    c: number,
    n: number,
  ) {
    for (let from = 0; from < rows; from += block) {
      const isFirst = from === 0
      const [source, panels] = [a + from * 4, at + from * count * (numbers === 'int16' ? 2 : 4)]
      const rest = [c, count * 4, n, count, block, isFirst ? bias : 0, isFirst ? 0 : 1] as const
      if (numbers === 'float') run.multiplyWide(source, rows * 4, panels, ...rest)
      else {
        run.toInt16(source, rows * 4, integers, block * 2, scales, n, block)
        run.multiplyInt16(integers, block * 2, scales, panels, columns + (from / block) * count * 4, ...rest)
      }
    }
  }

  return (tokens) => {
    const n = tokens.length
    new Uint32Array(memory.buffer, tokensAt, tokensMax).set(tokens)
    run.lookUp(tokensAt, n, words, positions, segment, width, x)
    run.addNormalized(x, 0, n, width, norm.weight, norm.bias, epsilon)
    for (const { queryKeyValue, attention, attentionNorm, up, down, downNorm } of layers) {
      multiply(x, queryKeyValue, wide, n)
      run.attend(wide, n, width, heads, scratch, y)
      multiply(y, attention, wide, n)
      run.addNormalized(x, wide, n, width, attentionNorm.weight, attentionNorm.bias, epsilon)
      multiply(x, up, wide, n)
      run.gelu(wide, n * inner)
      multiply(wide, down, y, n)
      run.addNormalized(x, y, n, width, downNorm.weight, downNorm.bias, epsilon)
    }
    run.pool(x, pooling === 'first' ? 1 : n, width, out)
    return new Float32Array(memory.buffer, out, width).slice()
  }
}

const scratchBytes = (model: ModelFolder): number =>
  scratchSizes(model).reduce((sum, size) => sum + Math.ceil(size / 64) * 64, 0)

/** Tokens, two matrices of the model's width, the wide one, scores of a head, integers with their scales, and the vector. */
function scratchSizes({ tokensMax, width, inner, heads }: ModelFolder): number[] {
  const rows = tokensMax + SPARE_ROWS
  const padded = Math.ceil(tokensMax / 8) * 8
  const [matrix, wide] = [rows * width * 4, rows * Math.max(3 * width, inner) * 4]
  const scores = padded * (1 + width / heads) * 4 + (padded + SPARE_ROWS) * padded * 4
  return [tokensMax * 4, matrix, matrix, wide, scores, rows * BLOCK_MAX * 2, rows * 4, width * 4]
}
