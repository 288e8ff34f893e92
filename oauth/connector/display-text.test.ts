import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { displayText } from './display-text.ts'

/** Characters with which a name lies about itself, among ordinary ones. */
const TRICKS = Array.from(
  '\0\x07\x1b\x7f\x85\x9b\t\r\n\u2028\u2029' +
    '\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069' +
    '\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u034f\u115f\u3164\uffa0\ufe0f\ufff9\u{e0041}\u{e0100}' +
    '\ue000\uf8ff\u{f0000}\u{10fffd}\uffff\udfff\ud800' +
    ' \u00a0\u2003\u3000\u2800\u0301\u0300\u20dd\u0334' +
    'aeé<>"😀漢ἀ가\u1100\u1161',
)
const text = fc.oneof(
  fc.array(fc.constantFrom(...TRICKS), { maxLength: 60 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
)

describe('whatever a client calls itself', () => {
  const shown = (check: (shown: string, max: number) => void) =>
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 120 }), (text, max) => {
        const result = displayText(text, max)
        if (result !== null) check(result, max)
      }),
      { numRuns: 3000 },
    )

  test('nothing is left that cannot be seen or turns the text around', () => {
    shown((result) =>
      expect(result).not.toMatch(/[\p{C}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800]/u),
    )
  })

  test('it stays on one line, in its own place', () => {
    shown((result) => {
      expect(result).toBe(result.trim())
      expect(result).not.toMatch(/[^\S ]| {2}/)
      expect(result).not.toMatch(/^\p{M}|\p{M}{7}/u)
    })
  })

  test('it is not empty, and no longer than asked', () => {
    shown((result, max) => {
      expect([...result].length).toBeGreaterThan(0)
      expect([...result].length).toBeLessThanOrEqual(max)
    })
  })

  test('it is in one normal form, and cleaning it again changes nothing', () => {
    shown((result, max) => {
      expect(result.normalize('NFC')).toBe(result)
      expect(displayText(result, max)).toBe(result)
    })
  })

  test('an honest name is shown as it is', () => {
    const characters = fc.constantFrom(
      ...'abcXYZ019 -_.,()&éüßñ漢字かな한글кириллицаעבריתالعربية'.normalize('NFC'),
    )
    fc.assert(
      fc.property(fc.array(characters, { minLength: 1, maxLength: 100 }), (parts) => {
        const name = parts.join('').replace(/ +/g, ' ').trim()
        expect(displayText(name)).toBe(name || null)
      }),
    )
  })
})

test.each([
  ['Claude Code', 'Claude Code'],
  ['  Visual\tStudio\r\n Code ', 'Visual Studio Code'],
  ['Cla\u200bude', 'Claude'],
  ['\u202egro.elpmaxe', 'gro.elpmaxe'],
  ['Cafe\u0301', 'Café'],
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['မြို့', 'မြို့'],
  ['e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309', 'é\u0302\u0303\u0304\u0305\u0306\u0307'],
  ['\u0338 \u0338Trusted', 'Trusted'],
  ['x'.repeat(101), 'x'.repeat(100)],
  ['😀'.repeat(101), '😀'.repeat(100)],
])('%j is shown as %j', (text, shown) => {
  expect(displayText(text)).toBe(shown)
})

test.each([
  undefined,
  null,
  7,
  {},
  ['Claude'],
  '',
  ' \n\t ',
  '\u200b\u202e',
  '\u2800\u3164',
  '\ue000',
  '\u0301',
])('%j leaves nothing to show', (text) => {
  expect(displayText(text)).toBeNull()
})
