import { expect, test } from 'vitest'
import { responseMemory } from './response-memory.ts'

const codeOf = (error: Error): string | undefined => (error as { code?: string }).code

test('whoever holds most loses their largest response, in however many parts they hold it', () => {
  const memory = responseMemory(100)
  const ended: string[] = []
  const hold = (owner: string, name: string) =>
    memory.hold(owner, (reason) => void ended.push(`${name} ${codeOf(reason)}`))
  const honest = hold('honest', 'honest')
  const parts = Array.from({ length: 10 }, (_, n) => hold('hoarder', `part ${n}`))
  honest.add(30)
  for (const [n, part] of parts.entries()) part.add(n === 4 ? 8 : 7)
  expect(ended).toEqual(['part 4 RESPONSE_TOO_LARGE'])
  hold('late', 'late').add(30)
  expect(ended).toHaveLength(5)
  expect(ended.every((one) => one.startsWith('part'))).toBe(true)
})

test('what was read, or belongs to a closed connection, holds nothing', () => {
  const memory = responseMemory(100)
  const ended: number[] = []
  for (let n = 0; n < 50; n += 1) {
    const one = memory.hold('x', () => void ended.push(n))
    one.add(60)
    one.release()
    one.add(60)
    one.end()
    one.add(60)
  }
  expect(ended).toEqual([])
})

test('one that is hung up on does not count again', () => {
  const memory = responseMemory(100)
  let ended = 0
  const own = memory.hold('x', () => {
    ended += 1
    own.end()
  })
  own.add(101)
  own.add(101)
  const other = memory.hold('y', () => void (ended += 1))
  other.add(100)
  expect(ended).toBe(1)
})
