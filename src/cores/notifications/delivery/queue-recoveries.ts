/**
 * Goes on with recoveries: the next deliveries that an integration missed are queued again, each under a new id. One
 * recovery at a time, the one that waits longest, and of it a batch: a long one holds up no other, and because a batch
 * follows only when little of the last is left, its integration's own new events do not wait behind all of it either.
 */
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Transaction } from '../../../../db/connect.ts'
import { and, asc, eq, gt, gte, lt, lte, sql } from '../../../../db/drizzle.ts'
import { deliveries, integrations, recoveries } from '../../../../db/schema.ts'
import { RECOVERY } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { notAhead } from '../../work/index.ts'
import { integrationKey } from '../integrations/integration-rows.ts'
import { enqueueReplays, lockReplays, selectReplayable, wasMissed } from './enqueue-replays.ts'

/** False: none was due. Every worker may do it at any time: each recovery is with one of them. */
export async function queueRecoveries({ db, clock }: Storage): Promise<boolean> {
  return withTransaction(db, async (tx) => {
    const [due] = await tx
      .select()
      .from(recoveries)
      .where(and(eq(recoveries.state, 'running'), sql`${recoveries.nextAt} <= ${notAhead(clock())}`))
      .orderBy(asc(recoveries.nextAt))
      .limit(1)
      .for('update', { skipLocked: true })
    if (!due) return false
    await tx
      .update(recoveries)
      .set(await nextStep(tx, { clock }, due))
      .where(keyOf(due))
    return true
  })
}

type Recovery = typeof recoveries.$inferSelect

const keyOf = ({ orgId, id }: Recovery) => and(eq(recoveries.orgId, orgId), eq(recoveries.id, id))

async function nextStep(
  tx: Transaction,
  { clock }: Pick<Storage, 'clock'>,
  due: Recovery,
): Promise<PgUpdateSetSource<typeof recoveries>> {
  const { orgId, integrationId } = due
  const now = clock()
  const later = (seconds: number) => sql`${notAhead(now)} + make_interval(secs => ${String(seconds)}::float8)`
  const nextAt = later(RECOVERY.everySeconds)
  const [integration] = await tx
    .select({ state: integrations.state })
    .from(integrations)
    .where(integrationKey({ orgId, id: integrationId }))
  // As everything else that waits for it, it goes on afterwards.
  if (integration?.state === 'paused') return { nextAt: later(RECOVERY.pausedSeconds) }
  if (integration?.state !== 'active') return { state: 'stopped', endedAt: now }
  if (await hasEnoughOpen(tx, due)) return { nextAt }
  await lockReplays(tx, orgId)
  const last = await lastScanned(tx, due)
  const found = await selectReplayable(tx)
    .where(
      and(
        eq(deliveries.orgId, orgId),
        gt(deliveries.id, due.cursor),
        last === undefined ? undefined : lte(deliveries.id, last),
        eq(deliveries.integrationId, integrationId),
        gte(deliveries.createdAt, due.since),
        lt(deliveries.createdAt, due.createdAt),
        wasMissed({ includesUnconfirmed: due.includesUnconfirmed }),
      ),
    )
    .orderBy(asc(deliveries.id))
    .limit(RECOVERY.batch)
  await enqueueReplays(tx, clock, found)
  const queued = due.queued + found.length
  if (found.length === RECOVERY.batch) return { queued, nextAt, cursor: found.at(-1)!.delivery.id }
  return last === undefined ? { queued, state: 'done', endedAt: now } : { queued, nextAt, cursor: last }
}

/** Of the ledger, a part at a time, however few of it are to this integration. Undefined: the rest of it is less. */
async function lastScanned(tx: Transaction, { orgId, cursor }: Recovery): Promise<string | undefined> {
  const [row] = await tx
    .select({ id: deliveries.id })
    .from(deliveries)
    .where(and(eq(deliveries.orgId, orgId), gt(deliveries.id, cursor)))
    .orderBy(asc(deliveries.id))
    .offset(RECOVERY.scanned - 1)
    .limit(1)
  return row?.id
}

async function hasEnoughOpen(tx: Transaction, { orgId, integrationId }: Recovery): Promise<boolean> {
  const [row] = await tx.execute<{ n: number }>(sql`
    select count(*)::int as n from (
      select from messages
      where org_id = ${orgId} and target = ${integrationId} and state in ('pending', 'claimed', 'sending')
      limit ${sql.raw(String(RECOVERY.open))}
    ) waiting`)
  return row!.n >= RECOVERY.open
}
