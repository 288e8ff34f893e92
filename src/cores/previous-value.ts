/** The value that a token had before it was rotated: good for a chosen time, and never for more than the token. */
import type { apiTokens } from '../../db/schema.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { MemberPrincipal } from './principal.ts'
import type { EndedRow } from './record-ending.ts'

type Row = Pick<
  typeof apiTokens.$inferSelect,
  | 'secretHash'
  | 'startsWith'
  | 'lastUsedAt'
  | 'previousHash'
  | 'previousStartsWith'
  | 'previousUntil'
  | 'previousLastUsedAt'
>

const HOUR_MS = 60 * 60 * 1000

export const endOfOverlap = (now: Date, hours: number): Date => new Date(now.getTime() + hours * HOUR_MS)

/** One that it had before that ends with this. */
export const rotatedOut = (row: Row, until: Date) => ({
  previousHash: row.secretHash,
  previousStartsWith: row.startsWith,
  previousUntil: until,
  previousLastUsedAt: row.lastUsedAt,
  lastUsedAt: null,
})

/** The new value with it: a lost tail would leave the old one as the only one there is. */
export const rotatedEnding = (
  before: Row & { readonly orgId: string; readonly id: string },
  values: ReturnType<typeof rotatedOut> & {
    readonly secretHash: string
    readonly startsWith: string
    readonly keyEpoch: string | null
  },
): EndedRow => ({
  orgId: before.orgId,
  id: before.id,
  was: before.secretHash,
  to: {
    secretHash: values.secretHash,
    startsWith: values.startsWith,
    keyEpoch: values.keyEpoch,
    previousUntil: values.previousUntil.toISOString(),
  },
})

/** Whoever found a token that was rotated out must not keep what was made with it beyond its end. */
export function refuseOutliving({ tokenId, expiresAt }: MemberPrincipal, end: Date | null): void {
  if (tokenId === undefined || expiresAt === null || (end !== null && end <= expiresAt)) return
  throw new ServiceError('FORBIDDEN', 'It would outlive the token that rotates it', {
    hint: 'Rotate it in the console.',
  })
}

export const presentPrevious = (row: Row, now: Date) =>
  row.previousUntil === null || row.previousUntil <= now
    ? null
    : {
        starts_with: row.previousStartsWith ?? '',
        works_until: row.previousUntil.toISOString(),
        last_used_at: row.previousLastUsedAt?.toISOString() ?? null,
      }
