import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { extractAround, markWords } from './matched-words.ts'

const marked = (text: string, words: readonly string[]) =>
  markWords(text, words)
    .map((part) => (part.isMatch ? `[${part.text}]` : part.text))
    .join('')

describe('words of a question in a passage', () => {
  test('are marked where they stand alone, whatever characters they have', () => {
    expect(marked('Leave, leaves and C++ (a.b) leave.', ['leave', 'Leave', 'C++', 'a.b'])).toBe(
      '[Leave], leaves and [C++] ([a.b]) [leave].',
    )
    expect(marked('über Übersee über', ['über'])).toBe('[über] Übersee [über]')
    expect(marked('a <script> x', ['<script>'])).toBe('a [<script>] x')
    expect(marked('nothing', [])).toBe('nothing')
  })

  test('never change the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.string(), { maxLength: 5 }), (text, words) => {
        expect(
          markWords(text, words)
            .map((part) => part.text)
            .join(''),
        ).toBe(text)
      }),
    )
  })

  test('are in the extract, which begins with a whole word', () => {
    const text = `${'before '.repeat(80)}needle ${'after '.repeat(80)}`
    const extract = extractAround(text, ['needle'], 120)
    expect(extract).toMatch(/^…before .*needle .*…$/s)
    expect(extract.length).toBeLessThanOrEqual(122)
    expect(extractAround('short', ['short'], 120)).toBe('short')
    expect(extractAround(text, ['absent'], 120)).toMatch(/^before /)
    expect(extractAround(`${'x'.repeat(500)} needle`, ['needle'], 120)).toContain('needle')
  })
})
