import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Block } from './blocks.ts'
import { passagesOf } from './passages.ts'
import { sentencesOf } from './sentences.ts'

/** Each word is a token, of at most eight characters. */
const count = (text: string): number =>
  text
    .split(/\s+/)
    .filter((word) => word !== '')
    .reduce((sum, word) => sum + Math.ceil(word.length / 8), 0)
const LIMITS = { tokensMax: 40 }
const divide = (...blocks: Block[]) => passagesOf('Title', blocks, count, LIMITS)
const words = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `w${from + at}`).join(' ')
const paragraph = (text: string): Block => ({ kind: 'paragraph', text })
const heading = (level: number, text: string): Block => ({ kind: 'heading', level, text })

describe('a document', () => {
  test('is divided at its headings, and each passage has those above it', () => {
    const blocks = [heading(1, 'Leave'), paragraph('One.'), heading(2, 'Sick'), paragraph('Two.')]
    expect(divide(...blocks, heading(1, 'IT'), paragraph('Three.'))).toEqual([
      { heading: 'Title > Leave', text: 'One.' },
      { heading: 'Title > Leave > Sick', text: 'Two.' },
      { heading: 'Title > IT', text: 'Three.' },
    ])
  })

  test('says the last sentence again where a passage is full', () => {
    const long = Array.from({ length: 12 }, (_, at) => `Sentence ${at} has five words.`).join(' ')
    const [first, second] = divide(paragraph(long))
    const last = sentencesOf(first!.text).at(-1)!
    expect(second!.text.startsWith(`${last} Sentence`)).toBe(true)
  })

  test('says the header of a table again, and keeps rows and lines whole', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `row${at} | ${at} | ${at}`)
    const passages = divide({ kind: 'table', header: 'name | a | b', lines })
    expect(passages.length).toBeGreaterThan(1)
    expect(passages.map(({ text }) => text.split('\n')[0])).toEqual(passages.map(() => 'name | a | b'))
    expect(passages.flatMap(({ text }) => text.split('\n').slice(1))).toEqual(lines)
  })

  test('is the same behind an edit, soon', () => {
    const blocks = Array.from({ length: 60 }, (_, at) => paragraph(`${words(at * 9, at * 9 + 9)}.`))
    const before = new Set(divide(...blocks).map(({ text }) => text))
    const after = divide(paragraph('Something new stands here.'), ...blocks)
    const others = after.filter(({ text }) => !before.has(text))
    expect(others.length).toBeLessThan(after.length / 3)
  })
})

const anyBlock = fc.oneof(
  fc.record({ kind: fc.constant('paragraph' as const), text: fc.string({ maxLength: 400 }) }),
  fc.record({
    kind: fc.constant('heading' as const),
    level: fc.integer({ min: 1, max: 6 }),
    text: fc.string({ minLength: 1, maxLength: 200 }),
  }),
  fc.record({
    kind: fc.constantFrom('list' as const, 'table' as const, 'code' as const),
    lines: fc.array(fc.string({ maxLength: 200 }), { maxLength: 10 }),
  }),
)

test('no passage is longer than the model reads, no word is lost, and the same text gives the same', () => {
  fc.assert(
    fc.property(fc.array(anyBlock, { maxLength: 12 }), (blocks) => {
      const passages = passagesOf('Title', blocks, count, LIMITS)
      for (const { heading: above, text } of passages) {
        expect(count(`${above}\n${text}`)).toBeLessThanOrEqual(LIMITS.tokensMax)
        expect(text.trim()).not.toBe('')
      }
      const said = passages.map(({ text }) => text.replaceAll(/\s+/g, '')).join('')
      const given = blocks.flatMap((block) =>
        block.kind === 'heading' ? [] : 'lines' in block ? block.lines : [block.text],
      )
      for (const word of given.flatMap((text) => text.split(/\s+/)).filter((one) => one.length <= 8)) {
        expect(said).toContain(word)
      }
      expect(passagesOf('Title', blocks, count, LIMITS)).toEqual(passages)
    }),
    { numRuns: 200 },
  )
})
