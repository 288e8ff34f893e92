/**
 * The public keys of identity providers, from the address that was pinned when the provider was added. Kept in the
 * process: they are public, and every process may ask for them once a minute.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isOfType, isStrong, purposeOf, type Algorithm } from '../../trust/signature.ts'
import type { Clock, GuardedFetch } from '../dependencies.ts'

export type ProviderKey = {
  readonly id: string | undefined
  /** Undefined: any that fits its type. */
  readonly algorithm: Algorithm | undefined
  readonly key: KeyObject
}

/** Which key an assertion was signed with, in its own words. */
export type Signer = { readonly keyId: string | undefined; readonly algorithm: Algorithm }

export type ProviderKeys = {
  /** Those that may have signed it: none, one, or several that share an id. */
  find(jwksUri: string, signer: Signer): Promise<readonly KeyObject[]>
  /** Reads them anew at once, for an administrator who tries it; undefined when they cannot be read. */
  read(jwksUri: string): Promise<readonly ProviderKey[] | undefined>
}

const KEY_SET = { bytes: 64 * 1024, ms: 2_500 }
const KEYS_MAX = 100
const SETS_MAX = 500
/** A key that its provider took back is refused after this time at the latest. */
const FRESH_MS = 10 * 60_000
/** At most one fetch of a set in this time, whoever asks for what. */
const RETRY_MS = 60_000
/** While the provider does not answer, its last known keys are good for this long. */
const KEPT_MS = 24 * 60 * 60_000

type KeySet = {
  keys: readonly ProviderKey[]
  /** When they were read; undefined: never yet. */
  readAt: number | undefined
  triedAt: number
  /** The fetch under way, which everybody waits for. */
  reading: Promise<void> | undefined
}

export function createProviderKeys({
  guardedFetch,
  clock,
}: {
  readonly guardedFetch: GuardedFetch
  readonly clock: Clock
}): ProviderKeys {
  const sets = new Map<string, KeySet>()

  /** The one used longest ago makes room. */
  function setOf(jwksUri: string): KeySet {
    const set = sets.get(jwksUri) ?? { keys: [], readAt: undefined, triedAt: -Infinity, reading: undefined }
    sets.delete(jwksUri)
    if (sets.size >= SETS_MAX) sets.delete(sets.keys().next().value!)
    sets.set(jwksUri, set)
    return set
  }

  async function refresh(jwksUri: string, set: KeySet): Promise<void> {
    set.triedAt = clock().getTime()
    const keys = await fetchKeys(guardedFetch, jwksUri)
    if (keys) Object.assign(set, { keys, readAt: clock().getTime() })
  }

  const refreshOnce = (jwksUri: string, set: KeySet): Promise<void> =>
    (set.reading ??= refresh(jwksUri, set).finally(() => void (set.reading = undefined)))

  const ageOf = ({ readAt }: KeySet) => (readAt === undefined ? Infinity : clock().getTime() - readAt)

  return {
    async find(jwksUri, signer) {
      const set = setOf(jwksUri)
      const known = ageOf(set) < FRESH_MS ? matching(set.keys, signer) : []
      if (known.length > 0) return known
      const mayTry = clock().getTime() - set.triedAt >= RETRY_MS
      if (mayTry || set.reading) await refreshOnce(jwksUri, set)
      return ageOf(set) < KEPT_MS ? matching(set.keys, signer) : []
    },
    async read(jwksUri) {
      const keys = await fetchKeys(guardedFetch, jwksUri)
      const now = clock().getTime()
      if (keys) Object.assign(setOf(jwksUri), { keys, readAt: now, triedAt: now })
      return keys
    },
  }
}

/** Without an id in the header it must be clear which one is meant. */
function matching(keys: readonly ProviderKey[], { keyId, algorithm }: Signer): KeyObject[] {
  const fitting = keys
    .filter(({ key }) => isOfType(key, algorithm))
    .filter((one) => one.algorithm === undefined || one.algorithm === algorithm)
  const named = keyId === undefined ? fitting : fitting.filter(({ id }) => id === keyId)
  return keyId === undefined && named.length > 1 ? [] : named.map(({ key }) => key)
}

async function fetchKeys(
  guardedFetch: GuardedFetch,
  jwksUri: string,
): Promise<readonly ProviderKey[] | undefined> {
  try {
    const { bytes: maxBytes, ms: deadlineMs } = KEY_SET
    const headers = { accept: 'application/jwk-set+json, application/json' }
    const answer = await guardedFetch(jwksUri, { headers, maxBytes, deadlineMs })
    if (answer.status !== 200) return undefined
    const document = JSON.parse(new TextDecoder().decode(answer.body)) as { keys?: unknown } | null
    if (!Array.isArray(document?.keys)) return undefined
    return document.keys.slice(0, KEYS_MAX).flatMap(importKey)
  } catch {
    return undefined
  }
}

/** Those for anything else, of any other type or too weak are left out. */
function importKey(jwk: unknown): ProviderKey[] {
  if (typeof jwk !== 'object' || jwk === null) return []
  const { kid, kty } = jwk as Record<string, unknown>
  const purpose = purposeOf(jwk as Record<string, unknown>)
  if (!purpose) return []
  // Node would read a shared secret as a key too.
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP') return []
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
    const id = typeof kid === 'string' ? kid : undefined
    return isStrong(key) ? [{ id, ...purpose, key }] : []
  } catch {
    return []
  }
}
