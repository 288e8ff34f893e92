import { expect, test } from 'vitest'
import { textQueue, type TextKind } from './text-queue.ts'

type Text = { readonly owner: string; readonly kind: TextKind; readonly name: string }

const SHARES = { question: { perOwner: 100, all: 1000 }, bulk: { perOwner: 100, all: 1000 } }

/** Texts by name: `a1` is the first of organization a, `A1` one of its texts in bulk. */
function queueOf(names: readonly string[], limits = SHARES) {
  const queue = textQueue<Text>(limits)
  const made = new Map<string, Text>()
  const textOf = (name: string): Text => {
    const owner = name[0]!.toLowerCase()
    const text = made.get(name) ?? { owner, kind: name.startsWith(owner) ? 'question' : 'bulk', name }
    made.set(name, text)
    return text
  }
  const add = (name: string) => queue.add(textOf(name))?.name
  const take = (count = Infinity) => {
    const taken: string[] = []
    for (let text; taken.length < count && (text = queue.take());) taken.push(text.name)
    return taken.join(' ')
  }
  for (const name of names) add(name)
  return { queue, add, take, textOf }
}

const many = (owner: string, count: number) => Array.from({ length: count }, (_, at) => `${owner}${at + 1}`)

test('organizations take turns, each in the order of its own texts', () => {
  const { take } = queueOf(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])
  expect(take()).toBe('a1 b1 c1 a2 b2 a3 a4')
})

test('whoever comes late waits for those who have not had their turn of this round, and for nobody twice', () => {
  const { add, take } = queueOf([...many('a', 60), ...many('b', 60)])
  expect(take(3)).toBe('a1 b1 a2')
  add('c1')
  add('c2')
  expect(take(5)).toBe('b2 c1 a3 b3 c2')
})

test('coming again and again gives nobody more than a turn in each round', () => {
  const { add, take } = queueOf(many('a', 9))
  const taken = [take(1)]
  for (let round = 1; round < 4; round += 1) {
    for (const owner of ['b', 'c']) {
      add(`${owner}${round}`)
      taken.push(take(1))
    }
  }
  add('b4')
  taken.push(take(2))
  expect(taken.join(' ')).toBe('a1 b1 c1 a2 b2 c2 a3 b3 c3')
})

test('a question goes before texts in bulk, also of its own organization', () => {
  const { add, take } = queueOf(['A1', 'A2', 'B1'])
  expect(take(1)).toBe('A1')
  add('a1')
  add('c1')
  expect(take()).toBe('a1 c1 B1 A2')
})

test('texts in bulk are not left waiting for ever', () => {
  const { take } = queueOf([...many('a', 20), 'B1', 'B2'])
  expect(take()).toBe('a1 a2 a3 a4 a5 a6 a7 a8 B1 a9 a10 a11 a12 a13 a14 a15 a16 B2 a17 a18 a19 a20')
})

test('an organization has so many waiting and no more, of each kind; nobody else is refused for it', () => {
  const limits = { question: { perOwner: 2, all: 100 }, bulk: { perOwner: 1, all: 100 } }
  const { add, take } = queueOf(['a1', 'a2', 'A1'], limits)
  expect(add('a3')).toBe('a3')
  expect(add('A2')).toBe('A2')
  expect(add('b1')).toBeUndefined()
  expect(take(1)).toBe('a1')
  expect(add('a4')).toBeUndefined()
  expect(take()).toBe('b1 a2 a4 A1')
})

test('a full queue takes the room from whoever has most, last text first', () => {
  const limits = { ...SHARES, question: { perOwner: 3, all: 5 } }
  const { add, take, queue } = queueOf(['a1', 'b1', 'b2', 'b3', 'c1'], limits)
  expect(add('d1')).toBe('b3')
  // Two are no more than the two it would have then.
  expect(add('c2')).toBe('c2')
  expect(add('e1')).toBe('b2')
  expect(add('f1')).toBe('f1')
  expect(queue.size()).toBe(5)
  expect(take()).toBe('a1 b1 c1 d1 e1')
  expect(queue.size()).toBe(0)
})

test('what is put back goes before all others, and takes no turn away', () => {
  const { queue, take, textOf } = queueOf(['a1', 'a2', 'b1', 'b2'])
  expect(take(1)).toBe('a1')
  queue.putBack(textOf('a1'))
  expect(queue.size()).toBe(4)
  expect(take()).toBe('a1 b1 a2 b2')
})

test('a text that does not fit stays the next one', () => {
  const { queue, take } = queueOf(['a1', 'b1'])
  expect(queue.take(({ name }) => name !== 'a1')).toBeUndefined()
  expect(take()).toBe('a1 b1')
})

test('what is removed is gone, once, and its organization leaves with its last text', () => {
  const { queue, take, textOf } = queueOf(['a1', 'b1', 'b2', 'A1'])
  expect([queue.owners(), queue.waitingOf('a'), queue.waitingOf('b')]).toEqual([2, 2, 2])
  expect(queue.remove(textOf('a1'))).toBe(true)
  expect(queue.remove(textOf('a1'))).toBe(false)
  expect(queue.remove(textOf('A1'))).toBe(true)
  expect([queue.owners(), queue.waitingOf('a'), queue.size()]).toEqual([1, 0, 2])
  queue.putBack(textOf('a1'))
  expect(queue.remove(textOf('a1'))).toBe(true)
  expect(take()).toBe('b1 b2')
})

test('all can be taken out at once', () => {
  const { queue, textOf } = queueOf(['a1', 'B1'])
  queue.putBack(textOf('c1'))
  expect(queue.removeAll().map(({ name }) => name)).toEqual(['c1', 'a1', 'B1'])
  expect([queue.size(), queue.take()]).toEqual([0, undefined])
})
