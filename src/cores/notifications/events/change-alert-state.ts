/** One alert per change of state: whoever makes the change records the event, and nobody else does. */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { alertStates } from '../../../../db/schema.ts'
import type { Clock } from '../../dependencies.ts'

export type StateChange = {
  readonly orgId: string
  readonly kind: string
  readonly subject: string
  readonly to: string
}

/**
 * Undefined: it was in that state already. `seq` belongs into the dedup key of the event, which is recorded in the same
 * transaction. `from` is null for a new subject.
 */
export async function changeAlertState(
  tx: Transaction,
  clock: Clock,
  { orgId, kind, subject, to }: StateChange,
): Promise<{ seq: number; from: string | null } | undefined> {
  const at = clock()
  const [first] = await tx
    .insert(alertStates)
    .values({ orgId, kind, subject, state: to, since: at, seq: 1 })
    .onConflictDoNothing()
    .returning({ seq: alertStates.seq })
  if (first) return { seq: first.seq, from: null }
  // The old state is read under the lock of the change, so that nobody changes it in between.
  const [moved] = await tx.execute<{ seq: number; was: string }>(sql`
    with before as (
      select state from alert_states
      where org_id = ${orgId} and kind = ${kind} and subject = ${subject} and state <> ${to}
      for update
    )
    update alert_states a set state = ${to}, since = ${at.toISOString()}::timestamptz, seq = a.seq + 1
    from before
    where a.org_id = ${orgId} and a.kind = ${kind} and a.subject = ${subject}
    returning a.seq, before.state as was`)
  return moved && { seq: moved.seq, from: moved.was }
}
