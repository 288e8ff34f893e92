import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { EmbeddingModelsSetting } from './embedding-settings.ts'

const URL_AND_LENGTH = { url: 'https://api.example.com/v1', dimensions: 3 }

const read = (models: unknown) =>
  EmbeddingModelsSetting.safeParse(typeof models === 'string' ? models : JSON.stringify(models))

/** Every message, as the list of problems at start shows them; none for settings that are taken. */
const problemsOf = (models: unknown): string[] =>
  read(models).error?.issues.map(({ message }) => message) ?? []

test('no setting means no further models', () => {
  expect(EmbeddingModelsSetting.parse(undefined)).toEqual(new Map())
  expect(EmbeddingModelsSetting.parse('{}')).toEqual(new Map())
})

test('everything that can be said about a model is read', () => {
  const said = {
    key: 'sk-1',
    dimensions: 1536,
    remote_model: 'text-embedding-3-small',
    header: 'api-key',
    headers: { 'x-project': 'p 1' },
    query_prefix: 'query: ',
    extra: { input_type: 'query', nested: { list: [1, null] } },
    passage_prefix: 'passage: ',
    passage_extra: { input_type: 'document' },
    bulk: true,
    send_dimensions: true,
    timeout_ms: 3000,
  }
  const models = EmbeddingModelsSetting.parse(JSON.stringify({ small: { ...said, url: URL_AND_LENGTH.url } }))
  expect(models).toEqual(new Map([['small', { ...said, url: new URL(URL_AND_LENGTH.url) }]]))
})

test.each(['BAAI/bge-m3', 'nomic-embed-text:latest', 'é', '__proto__', 'x'.repeat(100)])(
  'a model may be called %s',
  (name) => {
    const models = EmbeddingModelsSetting.parse(`{${JSON.stringify(name)}:${JSON.stringify(URL_AND_LENGTH)}}`)
    expect([...models.keys()]).toEqual([name])
  },
)

test.each(['', ' ', 'two words', 'line\nbreak', 'zero\u200bwidth', 'x'.repeat(101)])(
  'a model may not be called %j',
  (name) => {
    expect(problemsOf({ [name]: URL_AND_LENGTH })).toEqual([
      'a model name must have 1 to 100 visible characters and no blanks',
    ])
  },
)

test('the built-in model stays what it is', () => {
  expect(problemsOf({ 'minilm-l6-v2': URL_AND_LENGTH })).toEqual([
    'minilm-l6-v2 is the built-in model and cannot be another one',
  ])
})

test.each(['', 'x', '[]', 'null', '"text"', '{"a":', '[{"url":"https://a.test"}]'])(
  '%j is refused',
  (text) => {
    expect(problemsOf(text)).toEqual([
      'must be JSON: an object with an object of settings for each model name',
    ])
  },
)

const AN_OBJECT = 'm: must be an object with at least url and dimensions'
const AN_ADDRESS = 'm: url must be an http or https address'
const A_BASE = 'm: url must be an address without user, query and fragment'
const A_LENGTH = 'm: dimensions must be a whole number from 1 to 16000'
const A_TIME = 'm: timeout_ms must be a whole number from 100 to 60000'
const A_KEY = 'm: key must be visible ASCII characters without blanks'

describe('one thing wrong gives one message that says what would be right', () => {
  test.each<[changed: unknown, message: string]>([
    [{ url: undefined }, AN_ADDRESS],
    [{ url: 'api.example.com' }, AN_ADDRESS],
    [{ url: 'ftp://api.example.com' }, AN_ADDRESS],
    [{ url: 7 }, AN_ADDRESS],
    [{ url: 'https://me@api.example.com' }, A_BASE],
    [{ url: 'https://me:secret@api.example.com' }, A_BASE],
    [{ url: 'https://api.example.com/?key=secret' }, A_BASE],
    [{ url: 'https://api.example.com/#part' }, A_BASE],
    [{ dimensions: undefined }, A_LENGTH],
    [{ dimensions: 0 }, A_LENGTH],
    [{ dimensions: 1.5 }, A_LENGTH],
    [{ dimensions: 16_001 }, A_LENGTH],
    [{ dimensions: '384' }, A_LENGTH],
    [{ timeout_ms: 99 }, A_TIME],
    [{ timeout_ms: 60_001 }, A_TIME],
    [{ key: '' }, A_KEY],
    [{ key: 'two words' }, A_KEY],
    [{ key: 'line\nbreak' }, A_KEY],
    [{ key: 'schlüssel' }, A_KEY],
    [{ key: 7 }, 'm: key must be text'],
    [{ remote_model: '' }, 'm: remote_model must not be empty'],
    [{ header: 'api key', key: 'k' }, 'm: header must be the name of a header'],
    [{ header: 'api-key' }, 'm: header is of no use without key'],
    [{ headers: { 'x y': '1' } }, 'm: headers.x y must be the name of a header'],
    [{ headers: { x: 'a\r\nb: c' } }, 'm: headers.x must be visible ASCII characters'],
    [{ headers: { Host: 'a' } }, 'm: headers.Host is a header the client sets itself'],
    [{ headers: { 'Content-Length': '1' } }, 'm: headers.Content-Length is a header the client sets itself'],
    [{ headers: [] }, 'm: headers must be an object of headers'],
    [{ key: 'k', headers: { Authorization: 'x' } }, 'm: headers must not hold the header of the key'],
    [
      { key: 'k', header: 'Api-Key', headers: { 'api-key': 'x' } },
      'm: headers must not hold the header of the key',
    ],
    [{ query_prefix: 7 }, 'm: query_prefix must be text'],
    [{ extra: 'x' }, 'm: extra must be an object of JSON values'],
    [{ extra: { input: 'x' } }, 'm: extra.input has a setting of its own'],
    [{ extra: { dimensions: 2 } }, 'm: extra.dimensions has a setting of its own'],
    [{ send_dimensions: 'yes' }, 'm: send_dimensions must be true or false'],
    [{ dimension: 3 }, 'm: does not know dimension'],
  ])('%j', (changed, message) => {
    expect(problemsOf({ m: { ...URL_AND_LENGTH, ...(changed as object) } })).toEqual([message])
  })

  test.each([{ settings: null }, { settings: 'https://api.example.com' }, { settings: 3 }, { settings: [] }])(
    '%j',
    ({ settings }) => {
      expect(problemsOf({ m: settings })).toEqual([AN_OBJECT])
    },
  )
})

test('every problem of every model is reported at once', () => {
  expect(problemsOf({ a: { url: 'x', dimensions: 0 }, b: URL_AND_LENGTH, c: null })).toHaveLength(3)
})

test('no problem quotes a key', () => {
  const secret = 'sk-canary'
  const broken = [
    `{"m":{"key":"${secret}"`,
    `{"m":{"key":"${secret}",}}`,
    { url: 'https://a.test', key: secret, dimensions: 3 },
    { m: { ...URL_AND_LENGTH, key: `${secret} ` } },
    { m: { ...URL_AND_LENGTH, key: [secret] } },
    { m: { ...URL_AND_LENGTH, headers: { authorization: `Bearer ${secret}\n` } } },
    { m: { ...URL_AND_LENGTH, url: `https://:${secret}@a.test` } },
    { m: secret },
  ]
  for (const models of broken) {
    const { error } = read(models)
    expect(error).toBeDefined()
    expect(inspect(error, { depth: 20 })).not.toContain(secret)
  }
})
