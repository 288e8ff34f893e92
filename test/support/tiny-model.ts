/** A folder with a BERT of one or two layers, of made-up numbers, and what such a model computes, written down as in the paper. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type TinyShape = {
  readonly layers: number
  readonly width: number
  readonly heads: number
  readonly inner: number
}
type Tensor = { readonly shape: readonly number[]; readonly numbers: Float32Array }
type Rows = number[][]

const TINY_WORDS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'red', 'tent', '##s', 'query', ':', 'blue', 'stove']
const POSITIONS = 40

/** Writes config, tokenizer and weights; returns the weights by name. */
export function writeTinyModel(
  folder: string,
  { layers, width, heads, inner }: TinyShape,
  type: 'F16' | 'F32' = 'F32',
): ReadonlyMap<string, Tensor> {
  mkdirSync(folder, { recursive: true })
  const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value))
  write('config.json', {
    model_type: 'bert',
    hidden_act: 'gelu',
    hidden_size: width,
    intermediate_size: inner,
    num_attention_heads: heads,
    num_hidden_layers: layers,
    max_position_embeddings: POSITIONS,
    vocab_size: TINY_WORDS.length,
    layer_norm_eps: 1e-12,
  })
  write('tokenizer.json', {
    added_tokens: [],
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: {
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(TINY_WORDS.map((word, id) => [word, id])),
    },
  })
  const tensors = tinyTensors({ layers, width, heads, inner }, type)
  writeFileSync(join(folder, 'model.safetensors'), safetensors(tensors, type))
  return tensors
}

function tinyTensors({ layers, width, inner }: TinyShape, type: 'F16' | 'F32'): Map<string, Tensor> {
  let seed = 1
  /** Between -1 and 1, always the same. */
  const next = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return (seed / 0x7fff_ffff) * 2 - 1
  }
  const tensors = new Map<string, Tensor>()
  const add = (name: string, shape: readonly number[], around = 0) => {
    const numbers = Float32Array.from(
      { length: shape.reduce((product, size) => product * size, 1) },
      () => around + next() / 2,
    )
    tensors.set(name, {
      shape,
      numbers: type === 'F16' ? Float32Array.from(Float16Array.from(numbers)) : numbers,
    })
  }
  const dense = (name: string, to: number, from: number) => {
    add(`${name}.weight`, [to, from])
    add(`${name}.bias`, [to])
  }
  const norm = (name: string) => {
    add(`${name}.LayerNorm.weight`, [width], 1)
    add(`${name}.LayerNorm.bias`, [width])
  }
  add('embeddings.word_embeddings.weight', [TINY_WORDS.length, width])
  add('embeddings.position_embeddings.weight', [POSITIONS, width])
  add('embeddings.token_type_embeddings.weight', [2, width])
  norm('embeddings')
  for (let at = 0; at < layers; at += 1) {
    const layer = `encoder.layer.${at}`
    for (const part of ['query', 'key', 'value']) dense(`${layer}.attention.self.${part}`, width, width)
    dense(`${layer}.attention.output.dense`, width, width)
    norm(`${layer}.attention.output`)
    dense(`${layer}.intermediate.dense`, inner, width)
    dense(`${layer}.output.dense`, width, inner)
    norm(`${layer}.output`)
  }
  return tensors
}

function safetensors(tensors: ReadonlyMap<string, Tensor>, type: 'F16' | 'F32'): Buffer {
  let end = 0
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  const parts: Buffer[] = []
  for (const [name, { shape, numbers }] of tensors) {
    const bytes = Buffer.from((type === 'F16' ? Float16Array.from(numbers) : numbers).slice().buffer)
    header[name] = { dtype: type, shape, data_offsets: [end, end + bytes.length] }
    end += bytes.length
    parts.push(bytes)
  }
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return Buffer.concat([length, text, ...parts])
}

/** The vector of these tokens, in double precision and without any haste. */
export function referenceVector(
  tensors: ReadonlyMap<string, Tensor>,
  { layers, width, heads }: TinyShape,
  tokens: readonly number[],
  pooling: 'all' | 'first',
): number[] {
  const numbersOf = (name: string) => tensors.get(name)!.numbers
  const row = (name: string, at: number) => Array.from(numbersOf(name).subarray(at * width, (at + 1) * width))
  const plus = (a: readonly number[], b: readonly number[]) => a.map((number, at) => number + b[at]!)
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, number, at) => sum + number * b[at]!, 0)
  const dense = (x: Rows, name: string): Rows => {
    const [weight, bias] = [numbersOf(`${name}.weight`), numbersOf(`${name}.bias`)]
    return x.map((values) =>
      Array.from(bias, (b, to) => {
        let sum = b
        for (let from = 0; from < values.length; from += 1) {
          sum += values[from]! * weight[to * values.length + from]!
        }
        return sum
      }),
    )
  }
  const norm = (x: Rows, name: string): Rows =>
    x.map((values) => {
      const mean = values.reduce((sum, value) => sum + value, 0) / width
      const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width + 1e-12)
      const [weight, bias] = [numbersOf(`${name}.LayerNorm.weight`), numbersOf(`${name}.LayerNorm.bias`)]
      return values.map((value, at) => ((value - mean) / deviation) * weight[at]! + bias[at]!)
    })
  const attention = (q: Rows, k: Rows, v: Rows): Rows =>
    q.map((_, at) =>
      Array.from({ length: heads }, (_, head) => {
        const part = (values: readonly number[]) =>
          values.slice((head * width) / heads, ((head + 1) * width) / heads)
        const scores = k.map((key) => Math.exp(dot(part(q[at]!), part(key)) / Math.sqrt(width / heads)))
        const sum = scores.reduce((total, score) => total + score, 0)
        return part(v[0]!).map(
          (_, column) =>
            dot(
              scores,
              v.map((value) => part(value)[column]!),
            ) / sum,
        )
      }).flat(),
    )
  const gelu = (x: number) => (x / 2) * (1 + erf(x / Math.SQRT2))

  let x: Rows = tokens.map((token, at) =>
    plus(
      plus(row('embeddings.word_embeddings.weight', token), row('embeddings.position_embeddings.weight', at)),
      row('embeddings.token_type_embeddings.weight', 0),
    ),
  )
  x = norm(x, 'embeddings')
  for (let at = 0; at < layers; at += 1) {
    const layer = `encoder.layer.${at}`
    const self = (part: string) => dense(x, `${layer}.attention.self.${part}`)
    const attended = dense(
      attention(self('query'), self('key'), self('value')),
      `${layer}.attention.output.dense`,
    )
    x = norm(
      x.map((values, token) => plus(values, attended[token]!)),
      `${layer}.attention.output`,
    )
    const wide = dense(x, `${layer}.intermediate.dense`).map((values) => values.map(gelu))
    const narrow = dense(wide, `${layer}.output.dense`)
    x = norm(
      x.map((values, token) => plus(values, narrow[token]!)),
      `${layer}.output`,
    )
  }
  const pooled = (pooling === 'first' ? x.slice(0, 1) : x).reduce(plus)
  const length = Math.hypot(...pooled)
  return pooled.map((value) => value / length)
}

/** The series of Maclaurin, exact for what such a model has. */
function erf(x: number): number {
  if (Math.abs(x) > 5) return Math.sign(x)
  let [sum, term] = [x, x]
  for (let n = 1; n < 200 && Math.abs(term) > 1e-18; n += 1) {
    term *= -(x * x) / n
    sum += term / (2 * n + 1)
  }
  return (2 / Math.sqrt(Math.PI)) * sum
}
