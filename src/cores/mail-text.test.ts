import fc from 'fast-check'
import { expect, test } from 'vitest'
import { titleInMail } from './mail-text.ts'

test.each([
  ['Checkout fails with 500', 'Checkout fails with 500'],
  ['It broke. Again! (v1.2, “prod”)', 'It broke. Again! (v1.2, “prod”)'],
  ['Error: "no such column" at 50%', 'Error: "no such column" at 50%'],
  ['Pay at https://evil.test/login?x=1', 'Pay at https evil test/login?x=1'],
  ['www.evil.test', 'www evil test'],
  ['mail me@evil.test', 'mail me evil test'],
  ['javascript:alert(1)', 'javascript alert(1)'],
  ['evil。test and evil．test', 'evil test and evil test'],
  ['go to 10.0.0.1 now', 'go to 10 0 0 1 now'],
  ['one\r\nBcc: everybody@evil.test', 'one Bcc: everybody evil test'],
  ['\u202egnp.exe', 'gnp exe'],
  ['<b>bold</b> & <a href="https://evil.test">x</a>', 'b bold /b & a href="https evil test" x /a'],
  ['🎉', 'untitled'],
  ['日本語の題', '日本語の題'],
  ['x'.repeat(300), `${'x'.repeat(120)}…`],
])('%j is written %j', (title, written) => {
  expect(titleInMail(title)).toBe(written)
})

/** As mail programs recognize them: a scheme, www, a mailbox, or a name with a dot in it. */
const LINKS = /\w:\/\/|www\.|\S@\S|[\p{L}\p{N}-]\.[\p{L}]|\w:\w|\d+\.\d+\.\d+/u

test('nothing in a title can be followed', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.webUrl(),
    fc.emailAddress(),
    fc.domain(),
    fc.ipV4(),
  )
  fc.assert(
    fc.property(hostile, hostile, (a, b) => {
      expect(titleInMail(`${a} ${b}`)).not.toMatch(LINKS)
      expect(titleInMail(a + b)).not.toMatch(LINKS)
    }),
    { numRuns: 100 },
  )
})
