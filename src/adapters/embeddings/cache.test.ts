import { describe, expect, test } from 'vitest'
import { vectorCache } from './index.ts'

/** A cache over a model that counts how often it is asked. */
function counted(limits?: { entriesMax: number; bytesMax: number }) {
  const cache = vectorCache(limits)
  const asked: string[] = []
  return {
    asked,
    ask: (question: string, model = 'm') =>
      cache.vectorOf([model, question], async () => {
        asked.push(`${model} ${question}`)
        return new Float32Array([question.length, 1])
      }),
  }
}

test('a question is embedded once', async () => {
  const { ask, asked } = counted()
  expect(await ask('why?')).toEqual(new Float32Array([4, 1]))
  expect(await ask('why?')).toEqual(new Float32Array([4, 1]))
  expect(asked).toHaveLength(1)
})

test.each([
  ['another model', ['a', 'x'], ['b', 'x']],
  ['model and question divided otherwise', ['a', 'bc'], ['ab', 'c']],
  ['half a character and the sign for it', ['a', '\ud800'], ['a', '\ufffd']],
] as const)('%s is another question', async (_, [model, question], [otherModel, otherQuestion]) => {
  const { ask, asked } = counted()
  await ask(question, model)
  await ask(otherQuestion, otherModel)
  expect(asked).toHaveLength(2)
})

test('identical questions at the same time share one embedding, and each gets a vector of its own', async () => {
  const { ask, asked } = counted()
  const [one, two] = await Promise.all([ask('why?'), ask('why?')])
  expect(asked).toHaveLength(1)
  one.fill(0)
  expect(two).toEqual(new Float32Array([4, 1]))
  expect(await ask('why?')).toEqual(new Float32Array([4, 1]))
})

describe('when it is full', () => {
  test('the question unused for longest is forgotten', async () => {
    const { ask, asked } = counted({ entriesMax: 2, bytesMax: 1000 })
    for (const question of ['a', 'b', 'a', 'c']) await ask(question)
    expect(asked).toEqual(['m a', 'm b', 'm c'])
    await ask('a')
    expect(asked).toHaveLength(3)
    await ask('b')
    expect(asked).toHaveLength(4)
  })

  test('bytes count as well', async () => {
    const { ask, asked } = counted({ entriesMax: 1000, bytesMax: 16 })
    for (const question of ['a', 'b', 'c', 'b', 'c']) await ask(question)
    expect(asked).toHaveLength(3)
    await ask('a')
    expect(asked).toHaveLength(4)
  })

  test('a vector larger than the whole cache is given and not kept', async () => {
    const { ask, asked } = counted({ entriesMax: 1000, bytesMax: 7 })
    await ask('a')
    expect(await ask('a')).toEqual(new Float32Array([1, 1]))
    expect(asked).toHaveLength(2)
  })
})

test.each<[how: string, fail: () => Promise<Float32Array>]>([
  ['later', async () => Promise.reject(new Error('down'))],
  [
    'at once',
    () => {
      throw new Error('down')
    },
  ],
])('a failure, %s, reaches everybody who shared it and is not kept', async (_, fail) => {
  const cache = vectorCache()
  const failed = await Promise.allSettled([
    cache.vectorOf(['m', 'why?'], fail),
    cache.vectorOf(['m', 'why?'], fail),
  ])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await cache.vectorOf(['m', 'why?'], async () => new Float32Array([1]))).toEqual(
    new Float32Array([1]),
  )
})

describe('a caller who gives up', () => {
  /** Embeds until it is aborted. */
  function endless() {
    const signals: AbortSignal[] = []
    const embed = (signal: AbortSignal) =>
      new Promise<Float32Array>((_, reject) => {
        signals.push(signal)
        signal.addEventListener('abort', () => reject(new Error('aborted')))
      })
    return { signals, embed, cache: vectorCache(), one: new AbortController(), two: new AbortController() }
  }

  test('leaves the embedding to those who share it; the last one ends it, and the next begins anew', async () => {
    const { signals, embed, cache, one, two } = endless()
    const asked = [one, two].map(({ signal }) => cache.vectorOf(['why?'], embed, { signal }))
    one.abort(new Error('gone'))
    await expect(asked[0]).rejects.toThrow('gone')
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    two.abort(new Error('gone too'))
    await expect(asked[1]).rejects.toThrow('gone too')
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(await cache.vectorOf(['why?'], async () => new Float32Array([1]))).toEqual(new Float32Array([1]))
  })

  test('before asking does not ask', async () => {
    const { signals, embed, cache, one } = endless()
    one.abort(new Error('gone'))
    await expect(cache.vectorOf(['why?'], embed, one)).rejects.toThrow('gone')
    expect(signals).toHaveLength(0)
  })

  test('a question does not wait behind the same text in bulk', async () => {
    const { embed, cache, one } = endless()
    const bulk = cache.vectorOf(['why?'], embed, { kind: 'bulk', signal: one.signal })
    expect(await cache.vectorOf(['why?'], async () => new Float32Array([1]))).toEqual(new Float32Array([1]))
    one.abort(new Error('gone'))
    await expect(bulk).rejects.toThrow('gone')
  })
})
