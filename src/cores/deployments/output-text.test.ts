import { describe, expect, test } from 'vitest'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { plainText } from '../../contracts/plain-text.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { completeLength, withoutBytes } from './output-text.ts'

/** As a runner and the server do it together: what is not taken is sent again with what follows. */
function keep(pieces: readonly string[]): string {
  let [kept, rest] = ['', '']
  for (const [index, piece] of pieces.entries()) {
    rest += piece
    const length = index === pieces.length - 1 ? rest.length : completeLength(rest)
    kept += maskSecrets(plainText(rest.slice(0, length)))
    rest = rest.slice(length)
  }
  return kept
}

const SECRETS = {
  'a token in a header': 'curl -H "Authorization: Bearer aVeryLongBearerValue1234"\ndone\n',
  'a password in an address': 'connecting to postgres://app:s3cretWord@db.internal/app\nok\n',
  'a setting': 'export DB_PASSWORD=correcthorsebattery\nok\n',
  'a setting with its value in the next line': 'password:\n  correcthorsebattery\nok\n',
  'a quoted value of several lines': 'secret="first line\nsecond line"\nok\n',
  'a quote in a value of several lines': 'secret="first \\" line\nsecond line"\nok\n',
  'a private key with headers': `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\nMIIE\n-----END RSA PRIVATE KEY-----\nok\n`,
  'a token of our own': 'using svc_abcdefgh12345678abcdefgh\nok\n',
  'a bearer in the next line': 'Bearer\naVeryLongBearerValue1234\nok\n',
  'a private key': `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n'.repeat(4)}short\n-----END PRIVATE KEY-----\nok\n`,
  'a key without lines': 'the key is 4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e\nok\n',
}
const WORDS = [
  'aVeryLong',
  'BearerValue',
  's3cret',
  'correcthorse',
  'battery',
  'second line',
  'svc_abc',
  'MIIE',
  'short',
  '4f9a8b7c',
]

describe.each(Object.entries(SECRETS))('%s', (_name, text) => {
  test('is masked in the same way wherever the output is cut into pieces', () => {
    const whole = maskSecrets(plainText(text))
    for (const word of WORDS) expect(whole).not.toContain(word)
    for (let at = 1; at < text.length; at++) expect(keep([text.slice(0, at), text.slice(at)])).toBe(whole)
    expect(keep([...text])).toBe(whole)
  })
})

test('whole lines are taken, and an unfinished one waits for its end', () => {
  expect(completeLength('one\ntwo\nthr')).toBe(8)
  expect(completeLength('thr')).toBe(0)
  expect(completeLength('')).toBe(0)
})

test('a line without an end, and a key without one, do not wait for ever', () => {
  expect(completeLength('x'.repeat(16 * 1024))).toBe(16 * 1024)
  const open = `-----BEGIN PRIVATE KEY-----\n${'word '.repeat(5_000)}\n`
  expect(completeLength(open)).toBe(open.length)
})

test('the time it takes grows with the text and no faster', () => {
  for (const part of ['password="', 'token ', '-----BEGIN A-----\n', "secret='\n", '\n']) {
    const text = part.repeat(Math.ceil((64 * 1024) / part.length))
    expect(cpuMs(() => completeLength(text))).toBeLessThan(1_000)
  }
})

test('colors, titles, bells and invisible characters are removed, line breaks kept', () => {
  expect(
    plainText('\u001b[1;31mred\u001b[0m\u001b]0;title\u0007 \u0007a\u202eb\u0000\r\n10%\r20%\tok\n'),
  ).toBe('red ab\n10%\n20%\tok\n')
})

test('bytes that were taken before are left out', () => {
  expect(withoutBytes('äöü', 2)).toBe('öü')
  expect(withoutBytes('abc', 0)).toBe('abc')
  expect(withoutBytes('abc', 9)).toBe('')
})
