/**
 * Deletes settled deliveries after so many days, then what only they held: messages, attempts, events, names of removed
 * integrations; and what receivers answered after a few days already. What is open stays, however old. Once a day, because it reads whole tables: an index by time would cost every message a write.
 */
import { sql } from '../../../../db/drizzle.ts'
import { RESPONSE_EXCERPT } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { inParts } from '../../in-parts.ts'

export type SweepDeliveriesDeps = Storage & { readonly deliveryDays: number }

export async function sweepDeliveries({ db, clock, deliveryDays }: SweepDeliveriesDeps): Promise<void> {
  const before = daysBefore(clock(), deliveryDays)
  await inParts(db, { table: 'attempts' }, (isInPart) =>
    db.execute(sql`
      update attempts set response = null, request_headers = null
      where ${isInPart} and (response is not null or request_headers is not null)
        and started_at < ${daysBefore(clock(), RESPONSE_EXCERPT.days)}::timestamptz`),
  )
  await inParts(db, { table: 'deliveries' }, (isInPart) =>
    db.execute(sql`delete from deliveries where ${isInPart} and settled_at < ${before}::timestamptz`),
  )
  await inParts(db, { table: 'messages' }, (isInPart) =>
    db.execute(sql`
      with gone as (
        delete from messages
        where ${isInPart} and created_at < ${before}::timestamptz and state in ('sent', 'failed', 'dropped')
          and not exists (
            select from deliveries d where d.org_id = messages.org_id and d.message_id = messages.id)
        returning org_id, id
      )
      delete from attempts a using gone where a.org_id = gone.org_id and a.message_id = gone.id`),
  )
  // Before the events: whether somebody may still see a notification is read off the event it is about.
  await inParts(db, { table: 'notifications' }, (isInPart) =>
    db.execute(sql`delete from notifications where ${isInPart} and at < ${before}::timestamptz`),
  )
  await inParts(db, { table: 'events' }, (isInPart) =>
    db.execute(sql`
      delete from events
      where ${isInPart} and fanned_out_at < ${before}::timestamptz
        and not exists (select from deliveries d where d.org_id = events.org_id and d.event_id = events.id)`),
  )
  await db.execute(sql`
    delete from message_targets t
    where t.next_allowed_at < ${before}::timestamptz
      and not exists (select from messages m where m.org_id = t.org_id and m.target = t.target
        and m.state in ('pending', 'claimed', 'sending'))`)
  await db.execute(sql`delete from recoveries where ended_at < ${before}::timestamptz`)
  await db.execute(sql`
    delete from removed_integrations r
    where r.removed_at < ${before}::timestamptz
      and not exists (select from deliveries d where d.org_id = r.org_id and d.integration_id = r.id)`)
}

const daysBefore = (now: Date, days: number): string =>
  new Date(now.getTime() - days * 24 * 60 * 60 * 1000).toISOString()
