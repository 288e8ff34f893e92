/** A repeated `Idempotency-Key` replays the first answer: effect and answer are kept in one transaction. */
import { and, eq, gt, sql } from '../../db/drizzle.ts'
import { idempotencyKeys } from '../../db/schema.ts'
import { ServiceError } from '../contracts/errors.ts'
import { IDEMPOTENCY_KEY_SECONDS } from '../contracts/limits.ts'
import type { Caller, Operation } from '../contracts/operation.ts'
import type { Storage } from '../cores/needs.ts'
import { withTransaction } from '../cores/transaction.ts'
import { sha256 } from '../trust/keyed-hash.ts'

export type Kept = { status: number; body: unknown; replayed: boolean }

const SHAPE = /^[\x21-\x7e]{1,200}$/

export async function onlyOnce(
  { db, clock }: Storage,
  asked: { caller: Caller; operation: Operation; key: string; input: unknown; status: number },
  work: (db: Storage['db']) => Promise<unknown>,
): Promise<Kept> {
  if (!SHAPE.test(asked.key)) {
    throw new ServiceError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 200 visible ASCII characters')
  }
  const owner = ownerOf(asked)
  const key = sha256(asked.key)
  const requestHash = sha256(JSON.stringify(asked.input))
  return withTransaction(db, async (tx) => {
    // Two requests with one key at the same moment: the second waits here and then finds the first one's answer.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${owner + key}, 0))`)
    const [kept] = await tx
      .select()
      .from(idempotencyKeys)
      .where(
        and(
          eq(idempotencyKeys.owner, owner),
          eq(idempotencyKeys.key, key),
          gt(idempotencyKeys.expiresAt, clock()),
        ),
      )
    if (kept && kept.requestHash !== requestHash) {
      throw new ServiceError('CONFLICT', 'This Idempotency-Key was used for another request')
    }
    if (kept) return { status: kept.status, body: kept.answer, replayed: true }
    const body = await work(tx)
    const row = {
      requestHash,
      status: asked.status,
      answer: body,
      expiresAt: new Date(clock().getTime() + IDEMPOTENCY_KEY_SECONDS * 1000),
    }
    await tx
      .insert(idempotencyKeys)
      .values({ owner, key, ...row })
      .onConflictDoUpdate({ target: [idempotencyKeys.owner, idempotencyKeys.key], set: row })
    return { status: asked.status, body, replayed: false }
  })
}

/** Founding a first organization changes where a person stands; what they do as a person is theirs all the same. */
function ownerOf({ caller, operation }: { caller: Caller; operation: Operation }): string {
  const place = operation.who === 'person' ? '' : (caller.orgId ?? '')
  return `${operation.name}:${caller.userId ?? caller.kind}:${place}`
}
