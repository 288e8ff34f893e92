/** Adds to people's inboxes, in the transaction of whatever it is about. The same event twice is one notification. */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { makeId } from '../../../contracts/ids.ts'
import { notifyChanges } from '../../changes/index.ts'
import type { Clock } from '../../dependencies.ts'

export type NewNotification = {
  readonly orgId: string
  readonly userId: string
  readonly eventId: string
  readonly type: string
  readonly subject: string
  readonly summary: string
  readonly url: string | null
}

/** One statement, however many there are. */
export async function addNotifications(
  tx: Transaction,
  clock: Clock,
  added: readonly NewNotification[],
): Promise<void> {
  if (added.length === 0) return
  const at = clock()
  const rows = JSON.stringify(added.map((one) => ({ ...one, id: makeId('ntf', at.getTime()) })))
  await tx.execute(sql`
    insert into notifications (org_id, user_id, id, event_id, type, subject, summary, url, at)
    select n."orgId", n."userId", n.id, n."eventId", n.type, n.subject, n.summary, n.url,
      ${at.toISOString()}::timestamptz
    from json_to_recordset(${rows}::text::json) as n(
      "orgId" text, "userId" text, id text, "eventId" text, type text, subject text, summary text, url text)
    on conflict (org_id, user_id, event_id) do nothing`)
  await notifyChanges(tx, 'inbox', added)
}
