import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { isSignedBy, readPublicKey } from './machine-key.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwk = publicKey.export({ format: 'jwk' })
const signed = (alg: string) => new SignJWT({}).setProtectedHeader({ alg }).sign(privateKey)

test('what is kept of a key is what it consists of, its name and its algorithm', () => {
  const { n, e } = jwk
  const given = {
    ...jwk,
    kid: 'one',
    alg: 'PS256',
    use: 'sig',
    key_ops: ['verify'],
    x5u: 'https://a.example',
  }
  expect(readPublicKey(given).jwk).toEqual({ kty: 'RSA', n, e, kid: 'one', alg: 'PS256' })
  expect(readPublicKey(jwk)).toEqual({
    jwk: { kty: 'RSA', n, e },
    thumbprint: readPublicKey(given).thumbprint,
  })
})

test('a key that names its algorithm has signed nothing with another', async () => {
  const [ps256, rs256] = [await signed('PS256'), await signed('RS256')]
  expect([isSignedBy(ps256, jwk), isSignedBy(rs256, jwk)]).toEqual([true, true])
  const named = { ...jwk, alg: 'PS256' }
  expect([isSignedBy(ps256, named), isSignedBy(rs256, named)]).toEqual([true, false])
})

/** One that was sent has been shown: whoever sent it must hear so, and not that something else is wrong with it. */
test.each([
  ['EC', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ['Ed25519', generateKeyPairSync('ed25519').privateKey],
  ['RSA', privateKey],
])('a private key (%s) is refused, and is not to be used any more', (_kind, key) => {
  const problem = expect.stringContaining('is a private key. Do not use it any more') as string
  expect(() => readPublicKey(key.export({ format: 'jwk' }))).toThrow(
    expect.objectContaining({ problems: [problem] }),
  )
})
