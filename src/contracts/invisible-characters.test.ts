import { expect, test } from 'vitest'
import { codeOf, INVISIBLE } from './invisible-characters.ts'

const found = (text: string) => [...text.matchAll(INVISIBLE)].map(([character]) => codeOf(character))

test.each([
  ['controls', '\u0000\u001b\u007f\u0085'],
  ['marks of direction', '\u061c\u200e\u202a\u202e\u2066\u2069'],
  ['what has no width', '\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f'],
  ['fillers', '\u115f\u1160\u3164\uffa0\u17b4\u17b5\u2800'],
  ['variation selectors and tags', '\ufe0f\u180b\u{e0100}\u{e0001}\u{e0041}'],
  ['blanks', '\u00a0\u1680\u2000\u200a\u202f\u205f\u3000'],
  ['separators', '\u2028\u2029'],
  ['private characters', '\ue000\u{f0000}'],
])('%s are invisible', (_what, characters) => {
  expect(found(characters)).toEqual([...characters].map(codeOf))
})

test('half a character is, and letters, marks, emoji, tabs and blanks are not', () => {
  expect(found('a\ud800b')).toEqual(['U+D800'])
  expect(found('\ta b\u00e9e\u0301\u4e2d\u{1f600}\u0430')).toEqual([])
})
