/** The key that signs the trail: Ed25519, its private half sealed with DATA_KEY like every stored secret. */
import { createHash, createPrivateKey, generateKeyPairSync, hash, sign, type KeyObject } from 'node:crypto'
import { receiptText } from '../contracts/receipt-format.ts'
import { endorsedText, KEY_ID_LENGTH, sealedText, type TrailKey } from '../contracts/trail-format.ts'
import type { Sealer } from './data-key.ts'

/** As it is stored. */
export type StoredTrailKey = TrailKey & { readonly sealed: string }

export type TrailSigner = {
  readonly id: string
  sign(signed: string): string
  signReceipt(signed: string): string
}

export const sha256 = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer')
export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex')

const contextOf = (id: string): string => `trail-key:${id}`

/** The one before it vouches for it, where it can still be used. */
export function newTrailKey(sealer: Sealer, now: Date, before: StoredTrailKey | undefined): StoredTrailKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const public_key = publicKey.export({ format: 'jwk' }).x!
  const key = { id: sha256Hex(public_key).slice(0, KEY_ID_LENGTH), public_key, created_at: now.toISOString() }
  const opened = before && openKey(sealer, before)
  return {
    ...key,
    endorsed_by: opened ? before.id : null,
    endorsement: opened ? signText(opened, endorsedText(key)) : null,
    sealed: sealer.seal(contextOf(key.id), privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()),
  }
}

/** Undefined: it was sealed with another DATA_KEY. */
export function trailSigner(sealer: Sealer, key: StoredTrailKey): TrailSigner | undefined {
  const opened = openKey(sealer, key)
  return (
    opened && {
      id: key.id,
      sign: (signed) => signText(opened, sealedText(signed)),
      signReceipt: (signed) => signText(opened, receiptText(signed)),
    }
  )
}

function openKey(sealer: Sealer, { id, sealed }: StoredTrailKey): KeyObject | undefined {
  try {
    return createPrivateKey(sealer.open(contextOf(id), sealed))
  } catch {
    return undefined
  }
}

const signText = (key: KeyObject, text: string): string =>
  sign(null, Buffer.from(text), key).toString('base64url')
