/**
 * While an integration is paused its target is held: what is queued for it waits, also what is queued meanwhile, and what was
 * claimed is given back before it starts. Afterwards all of it is due, the oldest first.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { messageTargets } from '../../../../db/schema.ts'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import type { Clock, Storage } from '../../dependencies.ts'

type Held = { readonly orgId: string; readonly id: string; readonly kind: IntegrationKind }

/** Longer than anything waits: a time, and not `infinity`, which is no date elsewhere. */
const HELD_UNTIL = new Date('9999-01-01T00:00:00Z')
export const isHeld = (until: Date | null): boolean => until !== null && until >= HELD_UNTIL
export const HELD = sql.raw(`timestamptz '${HELD_UNTIL.toISOString()}'`)

export async function holdTarget(tx: Transaction, clock: Clock, { orgId, id }: Held): Promise<void> {
  await tx
    .insert(messageTargets)
    .values({ orgId, target: id, nextAllowedAt: clock(), heldUntil: HELD_UNTIL })
    .onConflictDoUpdate({
      target: [messageTargets.orgId, messageTargets.target],
      set: { heldUntil: HELD_UNTIL },
    })
}

/** In the request itself, the oldest; the others the worker has due, a part at a time. */
const RELEASED_AT_ONCE = 1_000

/** Also where it is turned off or removed: each is then dropped when it is its turn. */
export async function releaseTarget(tx: Transaction, clock: Clock, { orgId, id, kind }: Held): Promise<void> {
  const at = sql`${clock().toISOString()}::timestamptz`
  // Messages before their target, as whoever claims locks them. A moment apart, so that they are chosen in their order,
  // and before those that the worker has due afterwards.
  await tx.execute(sql`
    with held as materialized (
      select id, created_at, seq from messages
      where org_id = ${orgId} and channel = ${kind} and next_at >= ${HELD} and state in ('open', 'pending')
        and target = ${id}
      order by created_at, seq, id
      limit ${sql.raw(String(RELEASED_AT_ONCE))}
    )
    update messages m set next_at = ${at} - (${sql.raw(String(RELEASED_AT_ONCE))} - w.place) * interval '1 microsecond', slot_at = null
    from (select id, row_number() over (order by created_at, seq, id) as place from held) w
    where m.org_id = ${orgId} and m.id = w.id and m.state in ('open', 'pending')`)
  await tx.execute(sql`
    update message_targets set held_until = null
    where org_id = ${orgId} and target = ${id} and held_until >= ${HELD}`)
  await notify(tx, 'messages')
}

/** In one statement, so that its locks are short. */
const STRANDED_BATCH = 10_000

/**
 * Has due what waits for a hold that is over, the oldest first: there was too much of it for the request that ended it, or whoever claimed or gave back a message in the moment of the release may have
 * written the hold to it afterwards. One that is held again meanwhile is found so when it is claimed.
 */
export async function releaseStrandedMessages({ db, clock }: Storage): Promise<void> {
  const at = sql`${clock().toISOString()}::timestamptz`
  let [all, released] = [0, 0]
  do {
    const [batch] = await db.execute<{ n: number }>(sql`
      with stranded as materialized (
        select m.org_id, m.id, m.created_at, m.seq from messages m
        where m.state in ('open', 'pending') and m.lease_until is null and m.next_at >= ${HELD}
          and not exists (
            select from message_targets t
            where t.org_id = m.org_id and t.target = m.target and t.held_until >= ${HELD})
        order by m.created_at, m.seq, m.id
        limit ${sql.raw(String(STRANDED_BATCH))} for update of m skip locked
      ), released as (
        update messages m set next_at = ${at} + (w.place + ${sql.raw(String(all))}) * interval '1 microsecond', slot_at = null
        from (
          select org_id, id, row_number() over (order by created_at, seq, id) as place from stranded
        ) w
        where m.org_id = w.org_id and m.id = w.id
        returning m.id
      )
      select count(*)::int as n from released`)
    released = batch!.n
    all += released
  } while (released === STRANDED_BATCH)
  if (all > 0) await notify(db, 'messages')
}
