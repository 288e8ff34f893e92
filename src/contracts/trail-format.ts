/**
 * The trail as it is sealed and exported: which text of a row is hashed, how hashes make up a root, and what a seal says. The
 * server seals by it and the client verifies by it, so it has no zod and hashes with what it is given.
 */

type Sha256 = (bytes: Uint8Array) => Uint8Array

export const TRAIL_KINDS = ['audit', 'activity'] as const
export type TrailKind = (typeof TRAIL_KINDS)[number]

export const TRAIL_STREAM_KINDS = ['webhook', 'otlp'] as const
export type TrailStreamKind = (typeof TRAIL_STREAM_KINDS)[number]

/** In this order. One that is empty is left out, so a field that comes later changes no row of before. */
export const TRAIL_FIELDS = {
  audit: [
    'kind',
    'id',
    'at',
    'action',
    'actor_kind',
    'actor_id',
    'actor_name',
    'subject',
    'request_id',
    'support_session_id',
  ],
  activity: [
    'kind',
    'id',
    'at',
    'type',
    'name',
    'source_id',
    'user_id',
    'user_name',
    'entry_point',
    'client_id',
    'client_name',
    'grant_id',
    'outcome',
    'error',
    'duration_ms',
    'question_bytes',
    'answer_bytes',
    'hits',
    'question_digest',
    'answer_digest',
    'request_id',
  ],
} as const satisfies Record<TrailKind, readonly string[]>

export type TrailRow = { readonly kind: TrailKind; readonly id: string; readonly at: string } & Readonly<
  Record<string, unknown>
>

/** What a seal signs. Times are ISO, digests hexadecimal. */
export type SignedSeal = {
  readonly trail: 1
  readonly org: string
  readonly number: number
  /** Of the database: another one begins where it has gone back. */
  readonly epoch: string
  /** The sequence number of its first row. */
  readonly first: number
  readonly rows: number
  /** How many of them are of activity, and when the last of these was. */
  readonly activity: number
  readonly activity_to?: string
  readonly root: string
  /** The digest of what the seal before it signed; null: it is the first. */
  readonly previous: string | null
  readonly sealed_at: string
  readonly key: string
  /** The database went back: what was sealed after the seal before this one is lost. */
  readonly break?: { readonly after: string }
  /** Activity of before is deleted. `partly`: seals with later rows, each with how many of its rows are from before. */
  readonly removed?: {
    readonly activity_before: string
    readonly partly: readonly (readonly [number, number])[]
  }
}

/** Of the digest of a public key, hexadecimal. */
export const KEY_ID_LENGTH = 16

export type TrailKey = {
  /** The beginning of the SHA-256 of `public_key`, so that it stands for this key alone. */
  readonly id: string
  /** Ed25519, 32 bytes as base64url. */
  readonly public_key: string
  readonly created_at: string
  /** Signed by the key before it; null: the first one, or one whose predecessor could not be used any more. */
  readonly endorsed_by: string | null
  readonly endorsement: string | null
}

export const HASH_BYTES = 32

/** RFC 6962, 2.1: leaves and inner nodes begin with another byte, so that none passes for the other. */
const [LEAF, NODE] = [Buffer.from([0]), Buffer.from([1])]

export const leafOf = (sha256: Sha256, text: string): Uint8Array =>
  sha256(Buffer.concat([LEAF, Buffer.from(text)]))

/** Of hashes one after the other. Two and two make up the next level; one that is left over goes up as it is. */
export function rootOf(sha256: Sha256, leaves: Uint8Array): Uint8Array {
  if (leaves.length === 0) return sha256(leaves)
  let level = leaves
  while (level.length > HASH_BYTES) {
    const next = Buffer.alloc(Math.ceil(level.length / HASH_BYTES / 2) * HASH_BYTES)
    for (let at = 0; at < level.length; at += 2 * HASH_BYTES) {
      const pair = level.subarray(at, at + 2 * HASH_BYTES)
      next.set(pair.length > HASH_BYTES ? sha256(Buffer.concat([NODE, pair])) : pair, at / 2)
    }
    level = next
  }
  return level
}

export const sealedText = (signed: string): string => `svc trail seal\n${signed}`
export const endorsedText = ({
  id,
  public_key,
  created_at,
}: Omit<TrailKey, 'endorsed_by' | 'endorsement'>): string =>
  `svc trail key\n${JSON.stringify({ id, public_key, created_at })}`

/** Lines of an export, each a JSON object. */
export type ExportHeader = {
  readonly trail_export: 1
  readonly org: string
  readonly exported_at: string
  readonly keys: readonly TrailKey[]
  /** The last seal when it began; null: nothing was sealed yet. */
  readonly head: { readonly number: number; readonly epoch: string; readonly row: number } | null
}
export type ExportSeal = { readonly signed: string; readonly signature: string; readonly leaves: string }
/** `more`: there are more that are not sealed than an export has. */
export type ExportEnd = { readonly seals: number; readonly unsealed: number; readonly more?: true }
export type ExportLine =
  | { readonly header: ExportHeader }
  | { readonly seal: ExportSeal }
  | { readonly row: number; readonly is: TrailRow }
  | { readonly unsealed: TrailRow }
  | { readonly end: ExportEnd }
