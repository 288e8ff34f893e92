import { expect, test } from 'vitest'
import { fileEvidence, isSecretFile, linesOf, shownLines } from './source-text.ts'

test('lines end with a line feed, and the last one need not', () => {
  expect(linesOf('a\nb\n')).toEqual(['a', 'b'])
  expect(linesOf('a\nb')).toEqual(['a', 'b'])
  expect(linesOf('')).toEqual([])
})

test('tokens are not shown, and code that speaks of them is', () => {
  const lines = [
    'const password = readPassword(input)',
    "const stripe = new Stripe('sk_live_4eC39HqLyjWDarjtT1zdp7dc')",
    'if (a\u202e > b) return // hidden\u200b',
  ]
  expect(shownLines(lines, 1, 3)).toEqual([
    'const password = readPassword(input)',
    "const stripe = new Stripe('[hidden]')",
    'if (a > b) return // hidden',
  ])
})

test('of a private key nothing is shown, wherever the reading begins', () => {
  const lines = [
    'x',
    '-----BEGIN RSA PRIVATE KEY-----',
    'MIIEow',
    'IBAAK',
    '-----END RSA PRIVATE KEY-----',
    'y',
  ]
  expect(shownLines(lines, 3, 6)).toEqual(['[hidden]', '[hidden]', '[hidden]', 'y'])
})

test('evidence is exact: what was shown and what is kept may differ', () => {
  const lines = ["key('sk_live_4eC39HqLyjWDarjtT1zdp7dc')\r", 'b']
  expect(fileEvidence('a.ts', lines, 1, 2)).toEqual([
    {
      ref: 'file:a.ts#L1-L2',
      kind: 'file',
      location: 'a.ts',
      fromLine: 1,
      toLine: 2,
      text: "key('sk_live_4eC39HqLyjWDarjtT1zdp7dc')\r\nb",
    },
  ])
  expect(fileEvidence('a.js', ['x'.repeat(100_000)], 1, 1)).toEqual([])
})

test.each(['.env', 'config/.env.production', 'certs/tls.key', 'a/id_rsa', '.npmrc'])(
  '%s is not read',
  (path) => {
    expect(isSecretFile(path)).toBe(true)
  },
)
test.each(['src/environment.ts', 'src/key.ts', 'docs/keys.md'])('%s is read', (path) => {
  expect(isSecretFile(path)).toBe(false)
})
