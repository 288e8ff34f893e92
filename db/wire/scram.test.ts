import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
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

/** The last message of a client that knows the password, and proves it for whatever it says of channel and nonce. */
function proved(password: string, bare: string, serverFirst: string, withoutProof: string): string {
  const [, salt = '', rounds] = /,s=([^,]+),i=(\d+)/.exec(serverFirst) ?? []
  const hmac = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest()
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(rounds), 32, 'sha256')
  const clientKey = hmac(salted, 'Client Key')
  const storedKey = createHash('sha256').update(clientKey).digest()
  const signature = hmac(storedKey, `${bare},${serverFirst},${withoutProof}`)
  return `${withoutProof},p=${Buffer.from(clientKey.map((byte, at) => byte ^ signature[at]!)).toString('base64')}`
}

/** RFC 5802, 6: whoever sits between the two could else have taken the channel binding out of the first message. */
test.each([
  ['the header it began with', 'biws', (nonce: string) => nonce, true],
  ['another header', 'eSws', (nonce: string) => nonce, false],
  ['a channel binding', Buffer.from('p=tls-unique,,x').toString('base64'), (nonce: string) => nonce, false],
  ['no header', '', (nonce: string) => nonce, false],
  ['another nonce', 'biws', () => 'abcdef', false],
])('a client that knows the password and says %s', (_what, channel, nonceOf, isIn) => {
  const exchange = beginExchange(readVerifier(scramVerifier('pencil')), 'n,,n=,r=abc')!
  const nonce = nonceOf(/^r=([^,]+)/.exec(exchange.serverFirst)![1]!)
  const final = proved('pencil', 'n=,r=abc', exchange.serverFirst, `c=${channel},r=${nonce}`)
  expect(exchange.finish(final) !== undefined).toBe(isIn)
})
