/** Turns at a model: a few texts of each organization at a time, and each model by itself. */
import { expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { createTextEmbedding } from './embed-texts.ts'

/** Every text is under way until it is answered. */
function heldModel() {
  const underWay = new Map<string, { answer: () => void; fail: (reason: unknown) => void }>()
  const embedTexts = createTextEmbedding({
    embed: (owner, model, text, { signal } = {}) =>
      new Promise((resolve, reject) => {
        const key = `${owner} ${model} ${text}`
        const end = (settle: () => void) => () => {
          underWay.delete(key)
          settle()
        }
        underWay.set(key, {
          answer: end(() => resolve([Number(text)])),
          fail: (reason) => end(() => reject(reason))(),
        })
        signal?.addEventListener(
          'abort',
          end(() => reject(signal.reason)),
        )
      }),
  })
  return {
    embedTexts,
    underWay,
    of: (start: string) => [...underWay.keys()].filter((key) => key.startsWith(start)),
    answerAll: () => [...underWay.values()].forEach(({ answer }) => answer()),
  }
}

const numbers = (length: number) => Array.from({ length }, (_, at) => String(at))
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('the vectors have the order of the texts, and sixteen of one organization are under way', async () => {
  const { embedTexts, underWay, answerAll } = heldModel()
  const vectors = embedTexts('a', 'm', numbers(35))
  let most = 0
  for (let ended = false; !ended;) {
    await settled()
    most = Math.max(most, underWay.size)
    ended = underWay.size === 0
    answerAll()
  }
  expect(most).toBe(16)
  expect(await vectors).toEqual(numbers(35).map((text) => [Number(text)]))
})

test('a call of many texts does not hold up another organization', async () => {
  const { embedTexts, of, underWay } = heldModel()
  const all = Array.from({ length: 5 }, (_, at) =>
    embedTexts(`a${at}`, 'm', numbers(256)).catch(() => 'over'),
  )
  await settled()
  expect(of('a4')).toEqual([])
  const short = embedTexts('b', 'm', ['1'])
  // One turn ends: the next is of an organization that has none.
  for (const key of of('a0').slice(0, 8)) underWay.get(key)!.answer()
  await settled()
  for (const key of of('a1').slice(0, 8)) underWay.get(key)!.answer()
  await settled()
  expect(of('a4')).toHaveLength(8)
  underWay.get('b m 1')!.answer()
  expect(await short).toEqual([[1]])
  for (const key of of('a')) underWay.get(key)?.fail(new Error('over'))
  while (underWay.size > 0) {
    for (const { fail } of underWay.values()) fail(new Error('over'))
    await settled()
  }
  expect(await Promise.all(all)).toEqual(Array.from({ length: 5 }, () => 'over'))
})

test('whoever hangs at one model delays nobody at another', async () => {
  const { embedTexts, of, underWay } = heldModel()
  const end = new AbortController()
  const hanging = Array.from({ length: 8 }, (_, at) =>
    embedTexts(`a${at}`, 'far', numbers(16), end.signal).catch(() => 'over'),
  )
  await settled()
  expect(underWay.size).toBe(64)
  const near = embedTexts('b', 'near', ['7'])
  await settled()
  expect(of('b near')).toHaveLength(1)
  underWay.get('b near 7')!.answer()
  expect(await near).toEqual([[7]])
  end.abort()
  await Promise.all(hanging)
  expect(underWay.size).toBe(0)
})

test('the first failure ends the call with its own reason, and what was embedded is told', async () => {
  const { embedTexts, underWay } = heldModel()
  const used: number[] = []
  // It has one turn, and the organization's other one is taken: the rest of the call waits for it.
  const other = embedTexts('a', 'm', ['20'])
  const call = embedTexts('a', 'm', numbers(16), undefined, (at) => used.push(at))
  call.catch(() => undefined)
  await settled()
  expect(underWay.size).toBe(9)
  underWay.get('a m 0')!.answer()
  await settled()
  underWay.get('a m 1')!.fail(new ServiceError('EMBEDDING_UNAVAILABLE'))
  await expect(call).rejects.toMatchObject({ code: 'EMBEDDING_UNAVAILABLE' })
  expect(used).toEqual([0])
  expect([...underWay.keys()]).toEqual(['a m 20'])
  underWay.get('a m 20')!.answer()
  expect(await other).toEqual([[20]])
})

test('what is under way when the caller gives up has cost something; what waits has not', async () => {
  const { embedTexts } = heldModel()
  const used: number[] = []
  const end = new AbortController()
  const call = embedTexts('a', 'm', numbers(40), end.signal, (at) => used.push(at))
  await settled()
  end.abort(new Error('hung up'))
  await expect(call).rejects.toThrow('hung up')
  expect(used.toSorted((one, two) => one - two)).toEqual(numbers(16).map(Number))
})
