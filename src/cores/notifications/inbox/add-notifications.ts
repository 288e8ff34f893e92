/** Adds to people's inboxes, in the transaction of whatever it is about. The same event twice is one notification. */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Clock } from '../../dependencies.ts'

export type NewNotification = {
  readonly orgId: string
  readonly eventId: string
  readonly type: string
  readonly subject: string
  readonly summary: string
  readonly url: string | null
}

/** One statement, however many people there are. */
export async function addNotifications(
  tx: Transaction,
  clock: Clock,
  userIds: readonly string[],
  { orgId, eventId, type, subject, summary, url }: NewNotification,
): Promise<void> {
  if (userIds.length === 0) return
  const at = clock()
  const people = JSON.stringify(userIds.map((userId) => ({ userId, id: makeId('ntf', at.getTime()) })))
  await tx.execute(sql`
    insert into notifications (org_id, user_id, id, event_id, type, subject, summary, url, at)
    select ${orgId}, p."userId", p.id, ${eventId}, ${type}, ${subject}, ${summary}, ${url},
      ${at.toISOString()}::timestamptz
    from json_to_recordset(${people}::text::json) as p("userId" text, id text)
    on conflict (org_id, user_id, event_id) do nothing`)
}
