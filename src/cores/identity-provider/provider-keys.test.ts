import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createProviderKeys } from './provider-keys.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })

const read = async (jwk: object) => {
  const body = new TextEncoder().encode(JSON.stringify({ keys: [jwk] }))
  const guardedFetch = async () => ({ status: 200, headers: new Headers(), body })
  const keys = await createProviderKeys({ guardedFetch, clock: () => new Date(0) }).read(
    'https://keys.example',
  )
  return keys?.map(({ algorithm }) => algorithm)
}

test.each([
  ['that says nothing', {}, undefined],
  ['for signatures', { use: 'sig', key_ops: ['verify'], alg: 'PS256' }, 'PS256'],
])('a key %s is used', async (_what, says, algorithm) => {
  expect(await read({ ...rsa, ...says })).toEqual([algorithm])
})

test('Ed25519 is the new name of EdDSA', async () => {
  expect(await read({ ...ed25519, alg: 'Ed25519' })).toEqual(['EdDSA'])
})

test.each([
  ['to encrypt with', { use: 'enc' }],
  ['to wrap others with', { key_ops: ['wrapKey'] }],
  ['whose operations are no list', { key_ops: 'verify' }],
  ['of another algorithm', { alg: 'RSA-OAEP' }],
  ['with a shared secret’s algorithm', { alg: 'HS256' }],
])('a key %s is left out', async (_what, says) => {
  expect(await read({ ...rsa, ...says })).toEqual([])
})
