/** Takes up what a killed or frozen worker left: claims are free again; what was begun without an answer stays unconfirmed. */
import { sql } from '../../../db/drizzle.ts'
import type { Channel } from '../../contracts/deliveries.ts'
import type { Storage } from '../needs.ts'
import { settleAndStart } from './attempts.ts'
import { settle } from './outcomes.ts'

const BATCH = 200

/** How many were taken up. Every worker may do it at any time: each row goes to one of them. */
export async function reap(needs: Storage): Promise<number> {
  const { db, clock } = needs
  const now = clock()
  const at = sql`${now.toISOString()}::timestamptz`
  const freed = await db.execute(sql`
    update sends set state = 'pending', worker = null, lease_until = null
    where state = 'claimed' and lease_until < ${at} returning id`)
  const begun = await db.execute<{
    org_id: string
    id: string
    channel: Channel
    attempts: number
    resend: boolean | null
  }>(sql`
    select s.org_id, s.id, s.channel, s.attempts,
      s.channel = 'forum' or (s.channel = 'webhook' and i.config ->> 'resend_on_unknown' = 'true') as resend
    from sends s left join integrations i on i.org_id = s.org_id and i.id = s.integration_id
    where s.state = 'sending' and s.lease_until < ${at}
    limit ${sql.raw(String(BATCH))}`)
  const settled = begun.map((row) =>
    settle(
      {
        orgId: row.org_id,
        id: row.id,
        channel: row.channel,
        // A worker that died says nothing about the connection.
        integrationId: null,
        number: row.attempts,
        isRepeatable: row.resend === true,
      },
      { kind: 'unknown' },
      { now, durationMs: null, luck: Math.random() },
    ),
  )
  await settleAndStart(needs, { worker: '', leaseSeconds: 0 }, settled, [])
  return freed.length + begun.length
}
