import { expect, test } from 'vitest'
import { beginExchange, readVerifier, scramVerifier, mockVerifier } from './scram.ts'

test('a verifier has the form of Postgres, another salt each time, and nothing of the password', () => {
  const [one, two] = [scramVerifier('pencil'), scramVerifier('pencil')]
  expect(one).toMatch(/^SCRAM-SHA-256\$4096:[\w+/]{22}==\$[\w+/]{43}=:[\w+/]{43}=$/)
  expect(one).not.toBe(two)
  expect(one).not.toContain('pencil')
  expect(readVerifier(one)).toMatchObject({ iterations: 4096 })
})

test.each(['', 'md5abc', 'SCRAM-SHA-256$4096:AAAA$BBBB:CCCC', 'SCRAM-SHA-256$x:AAAA$B:C'])(
  '%o is not a verifier',
  (text) => {
    expect(() => readVerifier(text)).toThrow('not a SCRAM verifier')
  },
)

test('nobody has a salt of the usual length, the same each time, and another one under another key', () => {
  const salt = (key: string, name: string) => mockVerifier(Buffer.from(key), name).salt.toString('hex')
  expect(salt('k', 'a')).toHaveLength(32)
  expect(salt('k', 'a')).toBe(salt('k', 'a'))
  expect(new Set([salt('k', 'a'), salt('k', 'b'), salt('l', 'a')]).size).toBe(3)
})

test.each(['', 'n,,', 'n,,n=,r=', 'p=tls-unique,,n=,r=abc', 'n,,r=abc', 'n,,n=,r=a b'])(
  '%o does not begin an exchange',
  (opening) => {
    expect(beginExchange(readVerifier(scramVerifier('x')), opening)).toBeUndefined()
  },
)

test.each(['', ',p=', 'c=biws,r=abc', 'c=biws,r=abc,p=AAAA'])('%o does not finish one', (final) => {
  expect(beginExchange(readVerifier(scramVerifier('x')), 'n,,n=,r=abc')?.finish(final)).toBeUndefined()
})
