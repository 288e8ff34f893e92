/** Against a real server on loopback that answers as each test tells it to. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readJson } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EmbeddingModelsSetting } from '../../contracts/embedding-settings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { openAiCompatibleModel } from './openai-compatible.ts'

const KEY = 'sk-canary-key'
const QUESTION = 'canary question: who earns what?'
/** What a careless provider says: everything it was given. */
const UPSTREAM = `canary upstream: ${KEY} asked ${QUESTION}`
const NOW = new Date('2026-11-15T12:00:00Z')

type Asked = {
  method: string | undefined
  path: string | undefined
  headers: IncomingHttpHeaders
  body: unknown
}
type Answering = (response: ServerResponse) => void

const vectorOf = (...embedding: unknown[]): Answering => answering(200, { data: [{ index: 0, embedding }] })

function answering(status: number, body: unknown, headers: Record<string, string> = {}): Answering {
  return (response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A model of three dimensions at a provider that gives these answers, the last one for ever. */
async function meet(answers: readonly Answering[], settings: Record<string, unknown> = {}) {
  const asked: Asked[] = []
  const origin = await listen((request, response) => {
    const { method, url: path, headers } = request
    void readJson(request).then((body: unknown) => {
      const answer = answers[Math.min(asked.length, answers.length - 1)]
      asked.push({ method, path, headers, body })
      answer?.(response)
    })
  })
  return { asked, origin, ...modelAt(`${origin}/v1`, settings) }
}

function modelAt(url: string, settings: Record<string, unknown> = {}) {
  const waits: number[] = []
  const clock = { now: NOW }
  const text = JSON.stringify({ ours: { url, key: KEY, dimensions: 3, ...settings } })
  const model = openAiCompatibleModel('ours', EmbeddingModelsSetting.parse(text).get('ours')!, {
    sleep: async (ms) => waits.push(ms),
    clock: () => clock.now,
    random: () => 0.5,
  })
  return { ...model, waits, clock }
}

/** The reason in the log, after a look whether anything got out that must not. */
async function reasonOf(embedding: Promise<unknown>): Promise<{ reason: string; hint: string | undefined }> {
  const error = await embedding.then(
    () => new Error('There was a vector'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ServiceError)) throw error
  expect(error).toMatchObject({
    code: 'EMBEDDING_UNAVAILABLE',
    message: 'The embedding model cannot be used now',
  })
  const chain: unknown[] = []
  for (let at: unknown = error; at instanceof Error; at = at.cause) chain.push(at, at.message, at.stack)
  const everything = [
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
    ...chain.map((part) => inspect(part, { depth: 20, showHidden: true }) + JSON.stringify(part)),
  ].join('\n')
  expect(everything).not.toMatch(/canary/)
  const reason = (error.cause as Error).message.replace(
    /^embedding model ours at http:\/\/127\.0\.0\.1:\d+: /,
    '',
  )
  return { reason, hint: error.hint }
}

const LATER = 'Try again in a moment.'
const OPERATOR = expect.stringContaining('operator') as string

describe('a question', () => {
  test('is posted as OpenAI has it, with the key as bearer', async () => {
    const { embed, asked, dimensions } = await meet([vectorOf(0.5, -1, 0)])
    expect(await embed(QUESTION)).toEqual(new Float32Array([0.5, -1, 0]))
    expect(dimensions).toBe(3)
    expect(asked).toMatchObject([
      {
        method: 'POST',
        path: '/v1/embeddings',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      },
    ])
    expect(asked[0]?.body).toEqual({ model: 'ours', input: QUESTION, encoding_format: 'float' })
  })

  test('carries what the settings say', async () => {
    const { embed, asked } = await meet([vectorOf(1, 2, 3)], {
      remote_model: 'theirs',
      header: 'api-key',
      headers: { 'x-project': 'p1' },
      query_prefix: 'query: ',
      extra: { input_type: 'query' },
      send_dimensions: true,
    })
    await embed(QUESTION)
    expect(asked[0]?.headers).toMatchObject({ 'api-key': KEY, 'x-project': 'p1' })
    expect(asked[0]?.headers).not.toHaveProperty('authorization')
    expect(asked[0]?.body).toEqual({
      model: 'theirs',
      input: `query: ${QUESTION}`,
      encoding_format: 'float',
      dimensions: 3,
      input_type: 'query',
    })
  })

  test('needs no key where the provider needs none', async () => {
    const { embed, asked } = await meet([vectorOf(1, 2, 3)], { key: undefined })
    await embed(QUESTION)
    expect(asked[0]?.headers).not.toHaveProperty('authorization')
  })

  test('can do without encoding_format, which Voyage refuses', async () => {
    const { embed, asked } = await meet([vectorOf(1, 2, 3)], { extra: { encoding_format: null } })
    await embed(QUESTION)
    expect(asked[0]?.body).toEqual({ model: 'ours', input: QUESTION })
  })

  test.each(['', '/', '/v1', '/v1/', '/openai/v1//'])('finds its way from the base %j', async (base) => {
    const { origin, asked } = await meet([vectorOf(1, 2, 3)])
    await modelAt(origin + base).embed(QUESTION)
    expect(asked[0]?.path).toBe(`${base.replace(/\/+$/, '')}/embeddings`)
  })
})

describe('an answer that is no vector of ours is refused and not asked for again', () => {
  const NO_VECTOR = 'its answer does not hold one vector of numbers'
  const one = { embedding: [1, 2, 3] }
  test.each<[what: string, answer: Answering, reason: string]>([
    ['too short', vectorOf(1, 2), 'the vector has 2 dimensions and should have 3'],
    ['too long', vectorOf(1, 2, 3, 4), 'the vector has 4 dimensions and should have 3'],
    ['zero', vectorOf(0, 0, 0), 'the vector is zero'],
    [
      'too large for single precision',
      vectorOf(1, 2, 1e300),
      'the vector contains a value that is not a number',
    ],
    ['null in it', vectorOf(1, null, 3), NO_VECTOR],
    ['text in it', vectorOf(1, UPSTREAM, 3), NO_VECTOR],
    ['infinity', answering(200, '{"data":[{"embedding":[1,1e999,3]}]}'), NO_VECTOR],
    ['NaN', answering(200, '{"data":[{"embedding":[1,NaN,3]}]}'), 'its answer is not JSON'],
    ['base64', answering(200, { data: [{ embedding: 'AACAPwAAAEAAAEBA' }] }), NO_VECTOR],
    ['two vectors', answering(200, { data: [one, one] }), NO_VECTOR],
    ['no vector', answering(200, { data: [] }), NO_VECTOR],
    ['an error with status 200', answering(200, { error: { message: UPSTREAM } }), NO_VECTOR],
    ['not JSON', answering(200, UPSTREAM), 'its answer is not JSON'],
    ['nothing', answering(200, ''), 'its answer is not JSON'],
    ['no content', (response) => response.writeHead(204).end(), 'its answer is not JSON'],
    ['huge', answering(200, `"${'x'.repeat(4 * 1024 * 1024)}"`), 'its answer is too large'],
    [
      'huge once it is unpacked',
      (response) =>
        response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(5 * 1024 * 1024, ' '))),
      'its answer is too large',
    ],
  ])('%s', async (_, answer, reason) => {
    const { embed, asked } = await meet([answer])
    expect(await reasonOf(embed(QUESTION))).toEqual({ reason, hint: OPERATOR })
    expect(asked).toHaveLength(1)
  })

  test('without end', async () => {
    let sent = 0
    const { embed, asked } = await meet([
      (response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, ' '))) sent += 65_536
        }
        response.writeHead(200).on('drain', more)
        more()
      },
    ])
    expect((await reasonOf(embed(QUESTION))).reason).toBe('its answer is too large')
    expect(asked).toHaveLength(1)
    expect(sent).toBeLessThan(64 * 1024 * 1024)
  })
})

test.each([400, 401, 403, 404, 413, 422])('status %i will not be another the next time', async (status) => {
  const { embed, asked } = await meet([answering(status, { error: UPSTREAM }), vectorOf(1, 2, 3)])
  expect(await reasonOf(embed(QUESTION))).toEqual({ reason: `it answered ${status}`, hint: OPERATOR })
  expect(asked).toHaveLength(1)
})

/** Of one question that is never answered: each twice as long, up to five seconds, and all within twenty. */
const WAITS = [250, 500, 1000, 2000, 4000, 5000, 5000]

describe('another attempt', () => {
  test.each([408, 429, 500, 502, 503, 529])('follows status %i after a moment', async (status) => {
    const { embed, asked, waits } = await meet([answering(status, UPSTREAM), vectorOf(1, 2, 3)])
    expect(await embed(QUESTION)).toEqual(new Float32Array([1, 2, 3]))
    expect(asked).toHaveLength(2)
    expect(asked[1]?.body).toEqual(asked[0]?.body)
    expect(waits).toEqual([250])
  })

  test.each([
    ['2', 2000],
    ['0', 0],
    ['5', 5000],
    ['3600', 5000],
    ['Sun, 15 Nov 2026 12:00:03 GMT', 3000],
    ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
    ['soon', 250],
  ])('waits as long as Retry-After says, but not longer than 5 s: %s', async (header, ms) => {
    const { embed, waits } = await meet([
      answering(429, UPSTREAM, { 'retry-after': header }),
      vectorOf(1, 2, 3),
    ])
    expect(await embed(QUESTION)).toEqual(new Float32Array([1, 2, 3]))
    expect(waits).toEqual([ms])
  })

  test.each([429, 500])('follows another one: %i three times', async (status) => {
    const refused = answering(status, UPSTREAM)
    const { embed, waits } = await meet([refused, refused, refused, vectorOf(1, 2, 3)])
    expect(await embed(QUESTION)).toEqual(new Float32Array([1, 2, 3]))
    expect(waits).toEqual([250, 500, 1000])
  })

  test.each([429, 500])('follows until the time of the question is over: %i', async (status) => {
    const { embed, asked, waits } = await meet([answering(status, UPSTREAM)])
    expect(await reasonOf(embed(QUESTION))).toEqual({ reason: `it answered ${status}`, hint: LATER })
    expect(waits).toEqual(WAITS)
    expect(asked).toHaveLength(WAITS.length + 1)
  })

  test('a text in bulk has more time', async () => {
    const { embed, waits } = await meet([answering(500, UPSTREAM)])
    await reasonOf(embed(QUESTION, { kind: 'bulk' }))
    expect(waits).toEqual([...WAITS, ...Array(8).fill(5000)])
  })

  test('that ends otherwise tells its own reason', async () => {
    const { embed } = await meet([answering(500, UPSTREAM), answering(401, UPSTREAM)])
    expect(await reasonOf(embed(QUESTION))).toEqual({ reason: 'it answered 401', hint: OPERATOR })
  })

  test('follows a connection that was cut', async () => {
    const { embed } = await meet([(response) => response.destroy(), vectorOf(1, 2, 3)])
    expect(await embed(QUESTION)).toEqual(new Float32Array([1, 2, 3]))
  })
})

describe('a provider that', () => {
  test.each<[what: string, answer: Answering]>([
    ['says nothing', () => {}],
    ['begins and stops', (response) => void response.writeHead(200).write('{"data":[')],
  ])('%s is given up after the time-out, again and again', async (_, answer) => {
    const { embed, asked, waits } = await meet([answer], { timeout_ms: 100 })
    expect(await reasonOf(embed(QUESTION))).toEqual({ reason: 'it took too long', hint: LATER })
    expect(asked).toHaveLength(waits.length + 1)
    expect(waits).toEqual(WAITS)
  })

  test('says nothing is let go as soon as nobody waits, and not asked again', async () => {
    const gone = Promise.withResolvers<void>()
    const { embed, asked } = await meet([(response) => void response.on('close', gone.resolve)])
    const end = new AbortController()
    const given = reasonOf(embed(QUESTION, { signal: end.signal }))
    await expect.poll(() => asked).toHaveLength(1)
    end.abort()
    expect((await given).reason).toBe('nobody waits for it any more')
    await gone.promise
    expect(asked).toHaveLength(1)
  })

  test.each([301, 302, 307, 308])('redirects with %i is not followed', async (status) => {
    let requests = 0
    const elsewhere = await listen((_request, response) => {
      requests += 1
      response.end()
    })
    const { embed, asked } = await meet([answering(status, UPSTREAM, { location: `${elsewhere}/canary` })])
    expect(await reasonOf(embed(QUESTION))).toEqual({ reason: 'it answered with a redirect', hint: OPERATOR })
    expect(asked).toHaveLength(1)
    expect(requests).toBe(0)
  })

  test('is not there is tried again and named by its code', async () => {
    const gone = createServer().listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const { port } = gone.address() as AddressInfo
    await new Promise((closed) => gone.close(closed))
    const { embed, waits } = modelAt(`http://127.0.0.1:${port}/v1`)
    expect(await reasonOf(embed(QUESTION))).toEqual({
      reason: 'the connection failed: ECONNREFUSED',
      hint: LATER,
    })
    expect(waits).toEqual(WAITS)
  })

  test('talks something else than HTTP is no reason to quote it', async () => {
    const { embed } = await meet([(response) => response.socket?.end(`${UPSTREAM}\r\n\r\n`)])
    expect((await reasonOf(embed(QUESTION))).reason).toMatch(/^the connection failed: \w+$/)
  })
})

test('whatever the given fetch throws stays inside', async () => {
  const settings = EmbeddingModelsSetting.parse(
    JSON.stringify({ ours: { url: 'http://127.0.0.1:1', key: KEY, dimensions: 3 } }),
  )
  const model = openAiCompatibleModel('ours', settings.get('ours')!, {
    fetch: async () =>
      Promise.reject(Object.assign(new Error(UPSTREAM), { code: `E ${UPSTREAM}`, body: UPSTREAM })),
    sleep: async () => {},
  })
  expect((await reasonOf(model.embed(QUESTION))).reason).toBe('the connection failed: unknown')
})

describe('a provider that is down', () => {
  /** Fails until it is told to answer. */
  async function meetDown() {
    let answer = answering(503, UPSTREAM)
    const provider = await meet([(response) => answer(response)])
    for (let question = 0; question < 3; question += 1) await reasonOf(provider.embed(QUESTION))
    const later = (seconds: number) => {
      provider.clock.now = new Date(provider.clock.now.getTime() + seconds * 1000)
    }
    return {
      ...provider,
      later,
      mend: () => (answer = vectorOf(1, 2, 3)),
      wait: () => (answer = () => {}),
      refused: `it is not asked for a while: it answered 503`,
    }
  }

  test('is not asked after three questions in a row, and nobody waits for it', async () => {
    const { embed, asked, refused } = await meetDown()
    const before = asked.length
    expect(await reasonOf(embed(QUESTION))).toEqual({ reason: refused, hint: LATER })
    expect(asked).toHaveLength(before)
  })

  test('is asked by one after ten seconds, and then after twice as long', async () => {
    const { embed, asked, later, refused } = await meetDown()
    const before = asked.length
    later(10)
    const [probe, other] = await Promise.all([reasonOf(embed(QUESTION)), reasonOf(embed(QUESTION))])
    expect([probe.reason, other.reason]).toEqual(['it answered 503', refused])
    expect(asked.length).toBe(before + WAITS.length + 1)
    later(19)
    expect((await reasonOf(embed(QUESTION))).reason).toBe(refused)
    later(1)
    expect((await reasonOf(embed(QUESTION))).reason).toBe('it answered 503')
  })

  test('is not asked by all because the one who asked gave up', async () => {
    const { embed, later, wait, refused } = await meetDown()
    wait()
    later(10)
    const end = new AbortController()
    const probe = reasonOf(embed(QUESTION, { signal: end.signal }))
    end.abort()
    expect((await probe).reason).toBe('nobody waits for it any more')
    const next = new AbortController()
    const [one, other] = [reasonOf(embed(QUESTION, { signal: next.signal })), reasonOf(embed(QUESTION))]
    expect((await other).reason).toBe(refused)
    next.abort()
    await one
  })

  test('and answers again is asked by all, and no problem any more', async () => {
    const { embed, later, mend, problem } = await meetDown()
    expect(problem()).toBe('it answered 503')
    mend()
    later(10)
    await embed(QUESTION)
    expect(problem()).toBeUndefined()
    expect(await Promise.all([embed(QUESTION), embed(QUESTION)])).toHaveLength(2)
  })

  test('only for a text, or for somebody who has given up, is not down', async () => {
    const { embed, problem } = await meet([answering(413, UPSTREAM)])
    for (let question = 0; question < 4; question += 1) {
      expect((await reasonOf(embed(QUESTION))).reason).toBe('it answered 413')
    }
    expect(problem()).toBeUndefined()
    const silent = await meet([() => {}])
    for (let question = 1; question < 5; question += 1) {
      const end = new AbortController()
      const given = reasonOf(silent.embed(QUESTION, { signal: end.signal }))
      await expect.poll(() => silent.asked).toHaveLength(question)
      end.abort()
      expect((await given).reason).toBe('nobody waits for it any more')
    }
    expect(silent.problem()).toBeUndefined()
  })

  test('because of its settings says so for as long as they are wrong', async () => {
    const { embed, problem } = await meet([answering(401, UPSTREAM)])
    for (let question = 0; question < 4; question += 1) {
      expect((await reasonOf(embed(QUESTION))).reason).toBe('it answered 401')
    }
    expect(problem()).toBe('it answered 401')
  })
})
