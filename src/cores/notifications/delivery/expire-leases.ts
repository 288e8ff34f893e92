/**
 * Recovers what a killed or frozen worker left: claims are free again; an attempt without an answer is unconfirmed.
 */
import { eq, sql } from '../../../../db/drizzle.ts'
import { messages } from '../../../../db/schema.ts'
import type { Log, Storage } from '../../dependencies.ts'
import { attemptResult, finishAndStartAttempts, isRepeatable, type Attempt } from './attempts.ts'
import { failedMs } from '../../work/index.ts'
import { messageLease } from './claim-messages.ts'
import { recordFailureNotices } from './record-failure-notices.ts'

const BATCH = 200

type Started = Omit<Attempt, 'integrationId' | 'isRepeatable'> & { readonly allows: boolean | null }

/** Attempts that could not be ended, by organization and message: how often in a row, and from when on it is tried again. */
export type Unended = Map<string, { readonly times: number; readonly againAt: number }>

/**
 * Every worker may do it at any time: each row goes to one of them. Organizations take turns. `unended`: what one worker
 * remembers; a message whose row cannot be written has no other place for it.
 */
export async function expireLeases(deps: Storage & Log, unended: Unended = new Map()): Promise<void> {
  const { db, log } = deps
  const now = deps.clock().getTime()
  const before = new Map(unended)
  for (const [key, { againAt }] of before) if (againAt <= now) unended.delete(key)
  await messageLease.giveBackOver(db, eq(messages.state, 'claimed'), { state: 'pending' })
  const started = await db.execute<Started>(sql`
    select m.org_id as "orgId", m.id, m.channel, m.attempts as number, i.config ->> 'resend_on_unknown' = 'true' as allows,
      (select carried_by from attempts a
        where a.org_id = m.org_id and a.message_id = m.id and a.number = m.attempts) as "carriedBy"
    from messages m left join integrations i on i.org_id = m.org_id and i.id = m.integration_id
    where m.state = 'sending' and ${messageLease.isOver('m')}
      and m.org_id || ' ' || m.id not in (
        select json_array_elements_text(${JSON.stringify([...unended.keys()])}::text::json))
    order by row_number() over (partition by m.org_id order by m.lease_until), m.lease_until
    limit ${sql.raw(String(BATCH))}`)
  try {
    await endUnknown(deps, started)
  } catch {
    // One that cannot be ended keeps no other waiting.
    for (const one of started) {
      await endUnknown(deps, [one]).catch((error: unknown) => {
        const key = `${one.orgId} ${one.id}`
        const times = before.get(key)?.times ?? 0
        const againMs = failedMs(times)
        unended.set(key, { times: times + 1, againAt: now + againMs })
        log.warn('a lease of a message was not ended', { message: one.id, error, againMs })
      })
    }
  }
}

async function endUnknown(deps: Storage, started: readonly Started[]): Promise<void> {
  const now = deps.clock()
  const results = started.map((row) => ({
    ...attemptResult(
      // A worker that died says nothing about the integration, nor about its target.
      { ...row, integrationId: null, isRepeatable: isRepeatable(row.channel, row.allows === true) },
      { kind: 'unknown' },
      { now, durationMs: null, jitter: Math.random(), isShared: row.carriedBy !== null, response: null },
    ),
    answered: null,
  }))
  // Not those whose answer came after all, a moment before.
  const { ended } = await finishAndStartAttempts(deps, { worker: null, leaseSeconds: 0 }, results, [])
  await recordFailureNotices(deps, ended)
}
