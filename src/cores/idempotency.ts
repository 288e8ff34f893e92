/** A repeated `Idempotency-Key` replays the first answer: effect and answer are stored in one transaction. */
import { confirmLater } from '../../db/commit-locally.ts'
import { and, eq, gt, lt, sql } from '../../db/drizzle.ts'
import { idempotencyKeys } from '../../db/schema.ts'
import { ServiceError } from '../contracts/errors.ts'
import { IDEMPOTENCY_KEY_SECONDS } from '../contracts/limits.ts'
import type { Principal, Operation } from '../contracts/operation.ts'
import type { Storage } from './dependencies.ts'
import { withTransaction } from './transaction.ts'
import { sha256 } from '../trust/keyed-hash.ts'

type StoredAnswer = { status: number; body: unknown; replayed: boolean }

const KEY_FORMAT = /^[\x21-\x7e]{1,200}$/

export async function withIdempotencyKey(
  { db, clock }: Storage,
  request: { principal: Principal; operation: Operation; key: string; input: unknown; status: number },
  work: (db: Storage['db']) => Promise<unknown>,
): Promise<StoredAnswer> {
  if (!KEY_FORMAT.test(request.key)) {
    throw new ServiceError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 200 visible ASCII characters')
  }
  const owner = ownerOf(request)
  const key = sha256(request.key)
  const requestHash = sha256(JSON.stringify(request.input))
  return withTransaction(db, async (tx) => {
    // Two requests with one key at the same moment: the second waits here and then finds the first one's answer.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${owner + key}, 0))`)
    const [stored] = await tx
      .select()
      .from(idempotencyKeys)
      .where(
        and(
          eq(idempotencyKeys.owner, owner),
          eq(idempotencyKeys.key, key),
          gt(idempotencyKeys.expiresAt, clock()),
        ),
      )
    if (stored && stored.requestHash !== requestHash) {
      throw new ServiceError('CONFLICT', 'This Idempotency-Key was used for another request')
    }
    if (stored) {
      // The first one may still wait for its standby.
      await confirmLater(tx)
      return { status: stored.status, body: stored.answer, replayed: true }
    }
    const body = await work(tx)
    const row = {
      requestHash,
      status: request.status,
      answer: body,
      expiresAt: new Date(clock().getTime() + IDEMPOTENCY_KEY_SECONDS * 1000),
    }
    await tx
      .insert(idempotencyKeys)
      .values({ owner, key, ...row })
      .onConflictDoUpdate({ target: [idempotencyKeys.owner, idempotencyKeys.key], set: row })
    return { status: request.status, body, replayed: false }
  })
}

/** Creating a first organization changes the organization of the next call, so calls as a person are not bound to one. */
function ownerOf({ principal, operation }: { principal: Principal; operation: Operation }): string {
  const isOfPerson = operation.access === 'person' || operation.access === 'session'
  const organization = isOfPerson ? '' : (principal.orgId ?? '')
  return `${operation.name}:${principal.userId ?? principal.tokenId ?? principal.kind}:${organization}`
}

export async function sweepIdempotencyKeys({ db, clock }: Storage): Promise<void> {
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.expiresAt, clock()))
}
