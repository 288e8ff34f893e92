/** Recovers what a killed or frozen worker left: claims are free again; an attempt without an answer is unconfirmed. */
import { sql } from '../../../../db/drizzle.ts'
import type { Storage } from '../../dependencies.ts'
import { attemptResult, finishAndStartAttempts, isRepeatable, type Attempt } from './attempts.ts'

const BATCH = 200

/** Every worker may do it at any time: each row goes to one of them. */
export async function expireLeases(deps: Storage): Promise<void> {
  const { db, clock } = deps
  const now = clock()
  const at = sql`${now.toISOString()}::timestamptz`
  await db.execute(sql`
    update messages set state = 'pending', worker = null, lease_until = null
    where state = 'claimed' and lease_until < ${at}`)
  const started = await db.execute<
    Omit<Attempt, 'integrationId' | 'isRepeatable'> & { allows: boolean | null }
  >(sql`
    select m.org_id as "orgId", m.id, m.channel, m.attempts as number, i.config ->> 'resend_on_unknown' = 'true' as allows
    from messages m left join integrations i on i.org_id = m.org_id and i.id = m.integration_id
    where m.state = 'sending' and m.lease_until < ${at}
    limit ${sql.raw(String(BATCH))}`)
  const results = started.map((row) =>
    attemptResult(
      // A worker that died says nothing about the integration.
      { ...row, integrationId: null, isRepeatable: isRepeatable(row.channel, row.allows === true) },
      { kind: 'unknown' },
      { now, durationMs: null, jitter: Math.random() },
    ),
  )
  await finishAndStartAttempts(deps, { worker: '', leaseSeconds: 0 }, results, [])
}
