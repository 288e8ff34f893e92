/**
 * The log of refusals, for the administrators of the provider that an assertion names. It cannot be flooded: so many a
 * minute, and the newest ones are kept. What anybody can write in the name of a client without a secret, because no
 * signature was verified, has a small share of its own: it does not hide the others.
 */
import { and, desc, eq, inArray, lte, not } from '../../../../db/drizzle.ts'
import { assertionRefusals } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { RefusalReason } from '../../../contracts/identity-provider-states.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Storage } from '../../dependencies.ts'
import { throttle } from '../../throttle.ts'

const VERIFIED = { name: 'verified', rate: { count: 60, seconds: 60 }, kept: 800 }
const UNVERIFIED = { name: 'unverified', rate: { count: 10, seconds: 60 }, kept: 200 }
/** Decided before the signature. */
const UNVERIFIED_REASONS: RefusalReason[] = ['paused', 'key', 'signature']
/** Longer than any subject or key id that somebody reads. */
const TEXT_MAX = 200

export async function recordRefusal(
  deps: Storage,
  providerId: string,
  refusal: {
    readonly reason: RefusalReason
    readonly clientId: string
    readonly subject: string
    readonly keyId: string | undefined
  },
): Promise<void> {
  const { db, clock } = deps
  const isUnverified = UNVERIFIED_REASONS.includes(refusal.reason)
  const share = isUnverified ? UNVERIFIED : VERIFIED
  try {
    await throttle(deps, `assertion-refusals:${share.name}:${providerId}`, share.rate)
  } catch (error) {
    if (error instanceof ServiceError) return
    throw error
  }
  const now = clock()
  await db.insert(assertionRefusals).values({
    id: makeId('ref', now.getTime()),
    providerId,
    clientId: shown(refusal.clientId),
    reason: refusal.reason,
    subject: shown(refusal.subject),
    keyId: refusal.keyId === undefined ? null : shown(refusal.keyId),
    refusedAt: now,
  })
  const { reason } = assertionRefusals
  const ofShare = and(
    eq(assertionRefusals.providerId, providerId),
    isUnverified ? inArray(reason, UNVERIFIED_REASONS) : not(inArray(reason, UNVERIFIED_REASONS)),
  )
  const [oldest] = await db
    .select({ id: assertionRefusals.id })
    .from(assertionRefusals)
    .where(ofShare)
    .orderBy(desc(assertionRefusals.id))
    .offset(share.kept)
    .limit(1)
  if (!oldest) return
  await db.delete(assertionRefusals).where(and(ofShare, lte(assertionRefusals.id, oldest.id)))
}

/** Unverified, and others read it: nothing invisible, nothing that turns words around. */
const shown = (text: string): string =>
  text
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '�')
    .slice(0, TEXT_MAX)
    .toWellFormed()
