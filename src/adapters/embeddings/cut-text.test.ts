import { expect, test } from 'vitest'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { cutText } from './cut-text.ts'

test.each([
  ['words', 'word '.repeat(300), 'word '.repeat(256).trimEnd()],
  ['words with marks, which are tokens of their own', 'word, '.repeat(300), 'word, '.repeat(128).trimEnd()],
  ['ideographs', '\u6F22'.repeat(300), '\u6F22'.repeat(256)],
  ['other blanks', 'a\u00A0b\u3000c\n'.repeat(100), 'a\u00A0b\u3000c\n'.repeat(85) + 'a'],
])('what the model does not read is cut: %s', (_, text, cut) => {
  expect(cutText(text)).toEqual({ text: cut, tokens: 256 })
})

test.each([
  ['one long word', 'x'.repeat(4000), 1],
  ['characters that the tokenizer drops', '\u200B\uFEFF \u0000 \u000B'.repeat(500), 0],
  ['half characters', '\uD800 '.repeat(500), 0],
  ['dropped characters within a word', 'a\u200Bb\u000Bc', 1],
  ['a special token, in brackets', '[MASK] '.repeat(200), 200],
  ['accents alone', '\u0301 '.repeat(500), 0],
  ['nothing', '', 0],
])('what may be read is kept: %s', (_, text, tokens) => {
  expect(cutText(text)).toEqual({ text, tokens })
})

test('a hundred thousand characters of anything take no time worth speaking of', () => {
  for (const part of ['\u200B', 'x', '\u0301 ', '[', ' ']) {
    expect(cpuMs(() => cutText(part.repeat(128 * 1024)))).toBeLessThan(2_000)
  }
})
