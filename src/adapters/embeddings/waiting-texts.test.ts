import { expect, test } from 'vitest'
import { waitingTexts, type WaitingText } from './waiting-texts.ts'

type Text = WaitingText & { readonly name: string }

/** Texts by name: `a1` is the first of organization a, `A1` one of its texts in bulk. */
function queueOf(...names: readonly string[]) {
  const refused: string[] = []
  const queue = waitingTexts<Text>(({ name }) => refused.push(name), {
    question: { keys: ['organization'], waiting: { organization: 20 } },
    bulk: { keys: ['organization'], waiting: { organization: 2 } },
  })
  const made = new Map<string, Text>()
  const textOf = (name: string): Text => {
    const owner = name[0]!.toLowerCase()
    const text = made.get(name) ?? { owner, kind: name.startsWith(owner) ? 'question' : 'bulk', name }
    made.set(name, text)
    return text
  }
  const add = (...added: readonly string[]) => added.forEach((name) => queue.add(textOf(name)))
  const take = (count = Infinity) => {
    const taken: string[] = []
    for (let text; taken.length < count && (text = queue.take()); text.endTurn?.()) taken.push(text.name)
    return taken.join(' ')
  }
  add(...names)
  return { queue, add, take, textOf, refused }
}

const many = (owner: string, count: number) => Array.from({ length: count }, (_, at) => `${owner}${at + 1}`)

test('a question goes before texts in bulk, also of its own organization', () => {
  const { add, take } = queueOf('A1', 'A2', 'B1')
  expect(take(1)).toBe('A1')
  add('a1', 'c1')
  expect(take()).toBe('a1 c1 B1 A2')
})

test('texts in bulk are not left waiting for ever', () => {
  const { take } = queueOf(...many('a', 20), 'B1', 'B2')
  expect(take()).toBe('a1 a2 a3 a4 a5 a6 a7 a8 B1 a9 a10 a11 a12 a13 a14 a15 a16 B2 a17 a18 a19 a20')
})

test('each kind has its own share, and the text that finds no room does not wait', () => {
  const { add, textOf, refused, queue } = queueOf('A1', 'A2')
  add('A3', 'a1', 'B1')
  expect([refused, textOf('A3').leave, queue.size()]).toEqual([['A3'], undefined, 4])
  expect(queue.ahead(textOf('A1'))).toBe(4)
})

test('what is put back goes before all others, and takes no turn away', () => {
  const { queue, take, textOf } = queueOf('a1', 'a2', 'b1', 'b2')
  expect(take(1)).toBe('a1')
  queue.putBack(textOf('a1'))
  expect(queue.size()).toBe(4)
  expect(queue.take(({ name }) => name !== 'a1')).toBeUndefined()
  expect(take()).toBe('a1 b1 a2 b2')
})

test('what left is gone, also when it was put back', () => {
  const { queue, take, textOf } = queueOf('a1', 'b1', 'b2', 'A1')
  textOf('a1').leave!()
  textOf('A1').leave!()
  queue.putBack(textOf('a1'))
  textOf('a1').leave!()
  expect([queue.size(), take(), textOf('b1').leave]).toEqual([2, 'b1 b2', undefined])
})

test('all can be taken out at once', () => {
  const { queue, textOf } = queueOf('a1', 'B1')
  queue.putBack(textOf('c1'))
  expect(queue.removeAll().map(({ name }) => name)).toEqual(['c1', 'a1', 'B1'])
  expect([queue.size(), queue.take()]).toEqual([0, undefined])
})
