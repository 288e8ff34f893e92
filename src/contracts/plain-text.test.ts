import { expect, test } from 'vitest'
import { cpuMs } from '../../test/support/cpu-ms.ts'
import { plainText } from './plain-text.ts'

test.each([
  ['plain\ttext\nof lines', 'plain\ttext\nof lines'],
  ['\u001b[31merror\u001b[0m: \u001b[1;4mbad\u001b[m', 'error: bad'],
  ['\u001b]0;title\u0007shown', 'shown'],
  ['\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['user \u001b]x agent, status 500\nnext', 'user x agent, status 500\nnext'],
  ['user \u001bPx\nnext\u001b\\ line', 'user x\nnext line'],
  ['icon \ue0b0\u{f0001} here', 'icon  here'],
  ['a\u0000b\u0008c\u007fd\u009be', 'abcde'],
  ['\u202egnp.exe\u202c and \u2066hidden\u2069', 'gnp.exe and hidden'],
  ['pass\u200bword \ufeffx\u2028y', 'password xy'],
  ['half \ud800 pair', 'half \ufffd pair'],
  ['one\r\ntwo\rthree', 'one\ntwo\nthree'],
  ['größe 测试 🎉', 'größe 测试 🎉'],
])('%j', (text, plain) => expect(plainText(text)).toBe(plain))

test('what is made to be slow is not', () => {
  for (const part of ['\u001b[', '\u001b]', '\u001b', '\u0000', '\u001b[0']) {
    expect(cpuMs(() => plainText(part.repeat(20_000)))).toBeLessThan(1_000)
  }
})
