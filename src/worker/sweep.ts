/** Throws away what has expired. Nothing depends on it: expired rows are refused wherever they are read. */
import { and, eq, isNotNull, lt, or, sql } from '../../db/drizzle.ts'
import {
  activity,
  chatAttempts,
  idempotencyKeys,
  invitations,
  mailedLinks,
  oauthArtifacts,
  oauthMetadataDocuments,
  platformOauthClients,
  sessions,
  signInAttempts,
  signInCodes,
  throttles,
} from '../../db/schema.ts'
import type { Storage } from '../cores/needs.ts'

/** Ended sessions and invitations stay visible to whoever investigates yesterday's trouble. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000

/** A refresh still reads the document of its client, and a grant lives for a year. */
const DOCUMENT_KEPT_MS = 366 * 24 * 60 * 60 * 1000

export async function sweep({ db, clock }: Storage): Promise<void> {
  const now = clock()
  const longAgo = new Date(now.getTime() - KEPT_MS)
  const veryLongAgo = new Date(now.getTime() - DOCUMENT_KEPT_MS)
  await db.delete(signInAttempts).where(lt(signInAttempts.expiresAt, now))
  await db.delete(chatAttempts).where(lt(chatAttempts.expiresAt, now))
  await db.delete(signInCodes).where(lt(signInCodes.expiresAt, now))
  await db.delete(mailedLinks).where(lt(mailedLinks.expiresAt, now))
  await db.delete(throttles).where(lt(throttles.fullUntil, now))
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.expiresAt, now))
  await db.delete(oauthArtifacts).where(lt(oauthArtifacts.expiresAt, now))
  await db
    .delete(platformOauthClients)
    .where(and(eq(platformOauthClients.kind, 'dynamic'), lt(platformOauthClients.expiresAt, longAgo)))
  await db.delete(oauthMetadataDocuments).where(lt(oauthMetadataDocuments.fetchedAt, veryLongAgo))
  await db.delete(sessions).where(or(lt(sessions.expiresAt, longAgo), lt(sessions.endedAt, longAgo)))
  await db
    .delete(invitations)
    .where(
      or(
        lt(invitations.expiresAt, longAgo),
        and(isNotNull(invitations.acceptedAt), lt(invitations.acceptedAt, longAgo)),
      ),
    )
}

export type ActivityNeeds = Storage & { readonly activityDays: number }

/** Once a day, because it reads the whole table: an index by time would cost every question a write. */
export async function sweepActivity({ db, clock, activityDays }: ActivityNeeds): Promise<void> {
  await db
    .delete(activity)
    .where(lt(activity.at, new Date(clock().getTime() - activityDays * 24 * 60 * 60 * 1000)))
}

export type DeliveryNeeds = Storage & { readonly deliveryDays: number }

/**
 * Settled rows of the ledger, then what only they held: messages, attempts, events. What is open stays, however old. Once
 * a day, for the same reason.
 */
export async function sweepDeliveries({ db, clock, deliveryDays }: DeliveryNeeds): Promise<void> {
  const before = new Date(clock().getTime() - deliveryDays * 24 * 60 * 60 * 1000).toISOString()
  await db.execute(sql`delete from deliveries where settled_at < ${before}::timestamptz`)
  await db.execute(sql`
    with gone as (
      delete from sends s
      where s.created_at < ${before}::timestamptz and s.state in ('sent', 'failed', 'dropped')
        and not exists (select from deliveries d where d.org_id = s.org_id and d.send_id = s.id)
      returning s.org_id, s.id
    )
    delete from attempts a using gone where a.org_id = gone.org_id and a.send_id = gone.id`)
  // Before the events: whether somebody may still see a row of theirs is read off the event it tells of.
  await db.execute(sql`delete from inbox where at < ${before}::timestamptz`)
  await db.execute(sql`
    delete from events e
    where e.fanned_out_at < ${before}::timestamptz
      and not exists (select from deliveries d where d.org_id = e.org_id and d.event_id = e.id)`)
  await db.execute(sql`
    delete from send_targets t
    where t.next_allowed_at < ${before}::timestamptz
      and not exists (select from sends s where s.org_id = t.org_id and s.target = t.target
        and s.state in ('pending', 'claimed', 'sending'))`)
}
