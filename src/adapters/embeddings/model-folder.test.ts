/** Models of folders: other shapes than those of the built-in one, and folders that refuse the start. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { referenceVector, writeTinyModel, type TinyShape } from '../../../test/support/tiny-model.ts'
import { readModelDir } from '../../boot/model-dir.ts'
import { createEngine } from './engine.ts'
import { localModel } from './local-model.ts'
import { readModelFolder, readTokenizer } from './model-folder.ts'
import { createTokenizer } from './tokenizer.ts'
import { loadWeights } from './weights.ts'

const SHAPE: TinyShape = { layers: 2, width: 16, heads: 2, inner: 32 }

function temporaryFolder(name = 'tiny'): string {
  const parent = mkdtempSync(join(tmpdir(), 'svc-model-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  return join(parent, name)
}

const writeJson = (folder: string, path: string, value: unknown) =>
  writeFileSync(join(folder, path), JSON.stringify(value))

describe('a model of a folder computes what the paper says', () => {
  test.each<[what: string, shape: TinyShape, type: 'F16' | 'F32', pooling: 'all' | 'first']>([
    ['two layers', SHAPE, 'F32', 'all'],
    ['half floats', SHAPE, 'F16', 'all'],
    ['the first token alone', { layers: 1, width: 24, heads: 3, inner: 48 }, 'F32', 'first'],
    ['a narrow one with a wide layer between', { layers: 1, width: 16, heads: 2, inner: 384 }, 'F32', 'all'],
    ['wider than one sum of integers', { layers: 1, width: 512, heads: 8, inner: 1024 }, 'F32', 'all'],
  ])('%s', (_, shape, type, pooling) => {
    const folder = temporaryFolder()
    const tensors = writeTinyModel(folder, shape, type)
    if (pooling === 'first') {
      mkdirSync(join(folder, '1_Pooling'))
      writeJson(folder, '1_Pooling/config.json', { pooling_mode_cls_token: true })
    }
    const model = readModelFolder(folder)
    const tokenize = createTokenizer(readTokenizer(model), model.tokensMax)
    const engines = [
      { numbers: 'float', apart: 5e-4, engine: createEngine(model, loadWeights(model, 'float')) },
      { numbers: 'int16', apart: 5e-3, engine: createEngine(model, loadWeights(model, 'int16')) },
    ]
    for (const text of ['red', 'Blue tents: red stoves', 'tent '.repeat(100)]) {
      const tokens = tokenize(text)
      const expected = referenceVector(tensors, shape, tokens, pooling)
      for (const { numbers, apart, engine } of engines) {
        const vector = engine(tokens)
        const farthest = Math.max(...expected.map((number, at) => Math.abs(number - vector[at]!)))
        expect(farthest, `${numbers}: ${text.slice(0, 30)}`).toBeLessThan(apart)
      }
    }
  })
})

test('its name, length, pooling and prefixes are data of the folder', async () => {
  const folder = temporaryFolder('e5-tiny')
  writeTinyModel(folder, SHAPE)
  expect(readModelFolder(folder)).toMatchObject({
    name: 'e5-tiny',
    width: 16,
    tokensMax: 40,
    pooling: 'all',
    prefixes: { question: '', bulk: '' },
  })
  writeJson(folder, 'sentence_bert_config.json', { max_seq_length: 12, do_lower_case: false })
  writeJson(folder, 'config_sentence_transformers.json', { prompts: { query: 'query: ', passage: 'red ' } })
  const model = readModelFolder(folder)
  expect(model).toMatchObject({ tokensMax: 12, prefixes: { question: 'query: ', bulk: 'red ' } })
  const { embed, close, name, dimensions } = localModel(model)
  onTestFinished(close)
  expect([name, dimensions]).toEqual(['e5-tiny', 16])
  const [question, passage, asWritten] = [
    await embed('org_a', 'tents'),
    await embed('org_a', 'tents', { kind: 'bulk' }),
    createEngine(model, loadWeights(model))(createTokenizer(readTokenizer(model), 12)('query: tents')),
  ]
  expect(question).toEqual(asWritten)
  expect(passage).not.toEqual(question)
})

describe('a folder that does not fit refuses the start and says why', () => {
  const weights = (folder: string) => join(folder, 'model.safetensors')
  const edit = (folder: string, file: string, change: (value: Record<string, unknown>) => void) => {
    const value = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, unknown>
    change(value)
    writeJson(folder, file, value)
  }
  /** The header of the weights with one change. */
  const inHeader = (folder: string, from: string, to: string) => {
    const bytes = readFileSync(weights(folder))
    expect(from).toHaveLength(to.length)
    const at = bytes.indexOf(from)
    expect(at).toBeGreaterThan(0)
    bytes.write(to, at)
    writeFileSync(weights(folder), bytes)
  }
  test.each<[what: string, spoil: (folder: string) => void, problem: RegExp]>([
    [
      'another width',
      (folder) => edit(folder, 'config.json', (config) => (config['hidden_size'] = 32)),
      /^model\.safetensors: embeddings\.word_embeddings\.weight has the shape 11 x 16 and should have 11 x 32$/,
    ],
    [
      'another inner width',
      (folder) => edit(folder, 'config.json', (config) => (config['intermediate_size'] = 64)),
      /^model\.safetensors: encoder\.layer\.0\.intermediate\.dense\.weight has the shape 32 x 16 and should have 64 x 16$/,
    ],
    [
      'more layers',
      (folder) => edit(folder, 'config.json', (config) => (config['num_hidden_layers'] = 3)),
      /^model\.safetensors: encoder\.layer\.2\.attention\.self\.query\.weight is missing$/,
    ],
    [
      'numbers of another type',
      (folder) => inHeader(folder, '"dtype":"F32"', '"dtype":"I32"'),
      /^model\.safetensors: embeddings\.word_embeddings\.weight is of type I32; there are F16 and F32$/,
    ],
    [
      'weights that end early',
      (folder) => truncateSync(weights(folder), readFileSync(weights(folder)).length - 4),
      /^model\.safetensors: encoder\.layer\.1\.output\.LayerNorm\.bias is not whole$/,
    ],
    ['no weights', (folder) => rmSync(weights(folder)), /^there must be one file of weights/],
    ['two of them', (folder) => writeFileSync(join(folder, 'b.safetensors'), ''), /^there must be one file/],
    [
      'weights that are none',
      (folder) => writeFileSync(weights(folder), 'x'.repeat(100)),
      /^model\.safetensors is not/,
    ],
    [
      'no configuration',
      (folder) => rmSync(join(folder, 'config.json')),
      /^config\.json cannot be read: ENOENT$/,
    ],
    [
      'another kind of model',
      (folder) => edit(folder, 'config.json', (config) => (config['model_type'] = 'xlm-roberta')),
      /^config\.json: model_type: /,
    ],
    [
      'heads that do not divide it',
      (folder) => edit(folder, 'config.json', (config) => (config['num_attention_heads'] = 4)),
      /^config\.json: hidden_size must be num_attention_heads times a multiple of 8$/,
    ],
    [
      'another kind of tokenizer',
      (folder) => edit(folder, 'tokenizer.json', (file) => (file['normalizer'] = { type: 'Precompiled' })),
      /^tokenizer\.json: normalizer\.type: /,
    ],
    [
      'tokens beyond the vocabulary',
      (folder) =>
        edit(folder, 'tokenizer.json', (file) => (file['added_tokens'] = [{ id: 99, content: '[X]' }])),
      /^tokenizer\.json: token 99 is beyond the 11 words of the model$/,
    ],
    ['no folder', (folder) => rmSync(folder, { recursive: true }), /^config\.json cannot be read: ENOENT$/],
  ])('%s', async (_, spoil, problem) => {
    const folder = temporaryFolder()
    writeTinyModel(folder, SHAPE)
    spoil(folder)
    const refused = readModelDir({ EMBEDDING_MODEL_DIR: folder, EMBEDDING_MODELS: new Map() })
    await expect(refused).rejects.toMatchObject({
      problems: [expect.stringMatching(new RegExp(problem.source.replace('^', '^EMBEDDING_MODEL_DIR: ')))],
    })
  })

  test.each(['minilm-l6-v2', 'two words'])('a name that it cannot have: %s', async (name) => {
    const folder = temporaryFolder(name)
    writeTinyModel(folder, SHAPE)
    await expect(
      readModelDir({ EMBEDDING_MODEL_DIR: folder, EMBEDDING_MODELS: new Map() }),
    ).rejects.toMatchObject({ problems: [expect.stringMatching(/^EMBEDDING_MODEL_DIR: /)] })
  })
})
