/** How many unfinished loads and syncs an organization and a person may have, and which of them make way. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, count, eq, inArray, isNotNull, lt, or, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOADS_UNFINISHED_MAX, LOADS_UNFINISHED_PER_PERSON } from '../../contracts/limits.ts'

export const isUnfinished = (orgId: string) =>
  and(eq(loads.orgId, orgId), inArray(loads.state, ['uploading', 'running']))

/** They are begun one after the other, so that two are never counted as one. */
export const lockLoads = (tx: Transaction, orgId: string) =>
  tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`loads of ${orgId}`}, 0))`)

/** Under the lock. */
export async function requirePlace(
  tx: Transaction,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
  now: Date,
): Promise<void> {
  const isOwn = and(isUnfinished(orgId), eq(loads.createdBy, userId))
  for (const { of, max, whose } of [
    { of: isOwn, max: LOADS_UNFINISHED_PER_PERSON, whose: 'A person' },
    { of: isUnfinished(orgId), max: LOADS_UNFINISHED_MAX, whose: 'An organization' },
  ]) {
    const [unfinished] = await tx.select({ n: count() }).from(loads).where(of)
    if (unfinished!.n < max || (await endRefused(tx, of, now))) continue
    throw new ServiceError('CONFLICT', `${whose} has at most ${max} unfinished loads`, {
      hint: 'Wait for one of them, or cancel it.',
    })
  }
}

/** As long as a person takes to choose columns. */
const CHOOSING_MS = 10 * 60_000

/**
 * A file whose start was refused waits for other choices, as does one that nobody has started, but they keep nobody from
 * loading: the oldest of them makes way.
 */
async function endRefused(tx: Transaction, of: ReturnType<typeof and>, now: Date): Promise<boolean> {
  const isForgotten = and(
    eq(loads.received, loads.bytes),
    lt(loads.updatedAt, new Date(now.getTime() - CHOOSING_MS)),
  )
  const isRefused = and(of, eq(loads.state, 'uploading'), or(isNotNull(loads.failingSince), isForgotten))
  const [oldest] = await tx
    .select({ id: loads.id })
    .from(loads)
    .where(isRefused)
    .orderBy(asc(loads.updatedAt))
    .limit(1)
    .for('update')
  if (!oldest) return false
  await tx
    .update(loads)
    .set({ state: 'canceled', updatedAt: now, finishedAt: now, failingSince: null })
    .where(and(isRefused, eq(loads.id, oldest.id)))
  await notify(tx, 'loads')
  return true
}
