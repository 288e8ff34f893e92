/** DATA_KEY: seals stored secrets, and derives keys that survive a rotation of the other secrets. */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'

/** A key never serves two purposes: what leaks or is confused in one place opens nothing in another. */
export type DataPurpose =
  | 'sealing'
  | 'activity-digest'
  | 'hit-handle'
  | 'unknown-login'
  | 'question-login'
  | 'unsubscribe'
  | 'address-digest'
  | 'run-identity'
  | 'agent-runner'
  | 'endings-journal'
  | 'received-id'

export type Sealer = {
  /** `context` names the row that the sealed text belongs to: moved to another row it does not open. */
  seal(context: string, text: string): string
  open(context: string, sealed: string): string
}

export type DataKeys = Sealer & {
  keyFor(purpose: DataPurpose): Uint8Array
  /** Under a key of its own. */
  sealerFor(purpose: DataPurpose): Sealer
}

const IV_BYTES = 12
const TAG_BYTES = 16

export function dataKeys(dataKey: string): DataKeys {
  const derive = (purpose: DataPurpose) =>
    new Uint8Array(hkdfSync('sha256', Buffer.from(dataKey, 'hex'), 'svc data', purpose, 32))
  const keys = new Map<DataPurpose, Uint8Array>()
  const keyFor = (purpose: DataPurpose) => {
    const key = keys.get(purpose) ?? derive(purpose)
    keys.set(purpose, key)
    return key
  }
  const sealerFor = (purpose: DataPurpose) => sealer(keyFor(purpose))
  return { keyFor, sealerFor, ...sealerFor('sealing') }
}

function sealer(bytes: Uint8Array): Sealer {
  // A key object: with plain bytes Node 24 takes 25 µs longer per use.
  const key = createSecretKey(bytes)
  return {
    seal(context, text) {
      // NIST SP 800-38D, 8.2.2: random IVs of 96 bits are good for 2^32 texts under one key.
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      cipher.setAAD(Buffer.from(context))
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1.${sealed.toString('base64url')}`
    },
    open(context, sealed) {
      const bytes = Buffer.from(sealed.replace(/^v1\./, ''), 'base64url')
      const tagAt = bytes.length - TAG_BYTES
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(tagAt))
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, tagAt)), decipher.final()]).toString(
        'utf8',
      )
    },
  }
}
