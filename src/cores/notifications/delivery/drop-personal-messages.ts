/** What waits to be sent to somebody whose access ends. What is on its way is not called back. */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import type { Clock } from '../../dependencies.ts'

/** Returns how many messages. Those that a worker has claimed it drops itself: it asks again before each leaves. */
export async function dropPersonalMessages(
  tx: Transaction,
  clock: Clock,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
): Promise<number> {
  const [row] = await tx.execute<{ count: number }>(sql`
    with dropped as (
      update messages set state = 'dropped', worker = null, lease_until = null
      where org_id = ${orgId} and user_id = ${userId} and state in ('open', 'pending')
      returning id
    ), gone as (
      update deliveries set state = 'dropped', reason = 'not_a_member', settled_at = ${clock().toISOString()}::timestamptz
      where org_id = ${orgId} and message_id in (select id from dropped) and state in ('waiting', 'retrying')
    )
    select (select count(*) from dropped)::int + (select count(*) from messages
      where org_id = ${orgId} and user_id = ${userId} and state = 'claimed')::int as count`)
  return row!.count
}
