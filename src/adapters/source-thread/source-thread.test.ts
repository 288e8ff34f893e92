import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { writeTar } from '../../contracts/write-tar.ts'
import { fairTurns } from './fair-turns.ts'
import { createSourceThread } from './index.ts'

const LIMITS = { running: 1, perOrganization: 1, waitingPerOrganization: 3, waitMs: 1_000 }

test('organizations take turns, however much one of them asks for', async () => {
  const { inTurn } = fairTurns(LIMITS)
  const order: string[] = []
  const work = (name: string) => inTurn(name[0]!, async () => void order.push(name))
  await Promise.all([work('a1'), work('a2'), work('a3'), work('b1'), work('b2'), work('c1')])
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

test('more than may wait are refused, and so are those that waited too long', async () => {
  const { inTurn } = fairTurns({ ...LIMITS, waitMs: 20 })
  const blocked = Promise.withResolvers<void>()
  const first = inTurn('a', () => blocked.promise)
  const waiting = Promise.allSettled([1, 2, 3].map(() => inTurn('a', async () => {})))
  await expect(inTurn('a', async () => {})).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  for (const one of await waiting) expect(one.status).toBe('rejected')
  blocked.resolve()
  await first
  // What failed gives its turn back, too.
  await expect(inTurn('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await inTurn('a', async () => 'done')).toBe('done')
})

test('the thread reads archives and compares, and a new one comes after it was ended', async () => {
  const thread = createSourceThread()
  onTestFinished(() => thread.close())
  const archive = gzipSync(writeTar([{ path: 'a', content: Buffer.from('x\n'), isExecutable: true }]))
  const read = async () =>
    (await thread.unpack('org', archive)).files.map(({ path, content }) => [path, String(content)])
  expect(await read()).toEqual([['a', 'x\n']])
  await thread.close()
  expect(await read()).toEqual([['a', 'x\n']])
  const side = (text: string) => ({ text, isExecutable: false })
  const compared = await thread.compare('org', { path: 'a', old: side('1\n'), now: side('2\n') })
  expect([compared?.addedLines, compared?.removedLines]).toEqual([1, 1])
})
