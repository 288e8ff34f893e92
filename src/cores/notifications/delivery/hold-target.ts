/**
 * While an integration is paused its target is held: what is queued for it waits, also what is queued meanwhile, and what was
 * claimed is given back before it starts. Afterwards all of it is due, the oldest first.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { messageTargets } from '../../../../db/schema.ts'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import type { Clock } from '../../dependencies.ts'

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

/** Also where it is turned off or removed: each is then dropped when it is its turn. */
export async function releaseTarget(tx: Transaction, clock: Clock, { orgId, id, kind }: Held): Promise<void> {
  const at = sql`${clock().toISOString()}::timestamptz`
  // Messages before their target, as whoever claims locks them. A moment apart, so that they are chosen in their order.
  await tx.execute(sql`
    update messages m set next_at = ${at} + w.place * interval '1 microsecond', slot_at = null
    from (
      select id, row_number() over (order by created_at, seq, id) as place from messages
      where org_id = ${orgId} and channel = ${kind} and next_at >= ${HELD} and state in ('open', 'pending')
        and target = ${id}
    ) w
    where m.org_id = ${orgId} and m.id = w.id and m.state in ('open', 'pending')`)
  await tx.execute(sql`
    update message_targets set held_until = null
    where org_id = ${orgId} and target = ${id} and held_until >= ${HELD}`)
  await notify(tx, 'messages')
}
