import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { writeTar } from '../../contracts/write-tar.ts'
import { fairTurns } from './fair-turns.ts'
import { createSourceThread } from './index.ts'

const LIMITS = { running: 1, perOrganization: 1, waitingPerOrganization: 3, waitMs: 1_000 }

test('organizations take turns, however much one of them asks for', async () => {
  const { inTurn } = fairTurns(LIMITS, () => 0)
  const order: string[] = []
  const work = (name: string) => inTurn(name[0]!, async () => void order.push(name))
  await Promise.all([work('a1'), work('a2'), work('a3'), work('b1'), work('b2'), work('c1')])
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

/** Work that takes so long by the clock of the turns, and what had its turn in which order. */
function timedTurns() {
  let ms = 0
  const { inTurn } = fairTurns({ ...LIMITS, waitingPerOrganization: 100 }, () => ms)
  const order: string[] = []
  const work = (name: string, takes: number) =>
    inTurn(name[0]!, async () => {
      order.push(name)
      await Promise.resolve()
      ms += takes
    })
  return { order, work }
}

test('whoever asks for what takes long waits for as long as others with what is short', async () => {
  const { order, work } = timedTurns()
  const long = ['a', 'b'].flatMap((name) => Array.from({ length: 5 }, (_, i) => work(`${name}${i}`, 3_000)))
  const short = Array.from({ length: 20 }, (_, i) => work(`c${i}`, 100))
  await Promise.all([...long, ...short])
  // Of the long ones two may be before it, and then all of its own are the time of one.
  expect(order.slice(2, 22).every((name) => name.startsWith('c'))).toBe(true)
})

test('neither coming back each time nor having been away helps anybody', async () => {
  const { order, work } = timedTurns()
  const again = async (name: string, times: number, takes: number) => {
    for (let i = 0; i < times; i++) await work(`${name}${i}`, takes)
  }
  await Promise.all([again('a', 3, 3_000), ...Array.from({ length: 20 }, (_, i) => work(`c${i}`, 100))])
  // Whoever asks for its next when it has had one has used what it has used.
  expect(order.join(' ')).toMatch(/^a0 (?:c\d+ ){20}a1 a2$/)
  order.length = 0
  // One that was away for long has no claim to all the time that others had.
  const busy = Array.from({ length: 10 }, (_, i) => work(`a${i}`, 1_000))
  await busy[3]
  await Promise.all([...busy, ...Array.from({ length: 6 }, (_, i) => work(`d${i}`, 1_000))])
  expect(order.slice(4).join(' ')).toMatch(/a\d+ .*d0 .*a\d+ .*d1 .*a\d+ .*d2/)
})

test('ever new organizations that ask once do not keep one waiting that has used some time', async () => {
  const { order, work } = timedTurns()
  const newOne = (n: number) => work(String.fromCharCode(0x100 + n), 100)
  const asked = [work('a0', 3_000), work('a1', 0)]
  // Of the others there is always one waiting.
  let next = newOne(0)
  for (let n = 1; n < 300 && !order.includes('a1'); n++) {
    const before = next
    next = newOne(n)
    await before
  }
  await Promise.all([...asked, next])
  expect(order.indexOf('a1')).toBeLessThan(100)
})

test('more than may wait are refused, and so are those that waited too long', async () => {
  const { inTurn } = fairTurns({ ...LIMITS, waitMs: 20 })
  const blocked = Promise.withResolvers<void>()
  const first = inTurn('a', () => blocked.promise)
  const waiting = Promise.allSettled([1, 2, 3].map(() => inTurn('a', async () => {})))
  await expect(inTurn('a', async () => {})).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  for (const one of await waiting) {
    // It is not said to be of its own making.
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'RATE_LIMITED' } })
    expect((one as PromiseRejectedResult).reason.message).not.toContain('organization')
  }
  blocked.resolve()
  await first
  // What failed gives its turn back, too.
  await expect(inTurn('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await inTurn('a', async () => 'done')).toBe('done')
})

test('the thread reads archives, compares and edits, and a new one comes after it was ended', async () => {
  const thread = createSourceThread()
  onTestFinished(() => thread.close())
  const archive = gzipSync(writeTar([{ path: 'a', content: Buffer.from('x\n'), isExecutable: true }]))
  const read = async () =>
    (await thread.unpack('org', archive)).files.map(({ path, content }) => [path, String(content)])
  expect(await read()).toEqual([['a', 'x\n']])
  await thread.close()
  expect(await read()).toEqual([['a', 'x\n']])
  const side = (text: string) => ({ text, isExecutable: false })
  const compared = await thread.compare('org', { path: 'a', old: side('1\n'), now: side('2\n') }, () => false)
  expect([compared?.addedLines, compared?.removedLines]).toEqual([1, 1])
  const edits = [{ path: 'a', old_text: '1', new_text: '2' }]
  const edited = await thread.edit('org', { edits, texts: new Map([['a', '1\n']]) })
  expect(edited).toEqual({ files: new Map([['a', '2\n']]), problems: [] })
})
