/**
 * From one event to everybody it is for: deliveries with their messages or their place in a digest, inbox notifications,
 * and a row in the ledger also when it is for nobody. One event at a time per subject, in the order they happened.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { FAN_OUT_PAGE } from '../../../contracts/limits.ts'
import { atLeast } from '../../../contracts/roles.ts'
import type { Log, Storage } from '../../dependencies.ts'
import { memberKey, type WithDirectory } from '../../directory/index.ts'
import { withTransaction } from '../../transaction.ts'
import { linkOf, summaryLine } from '../channels/render.ts'
import { shipOutbox } from '../events/outbox.ts'
import { addNotifications } from '../inbox/add-notifications.ts'
import { createDefaultsFor } from './default-subscriptions.ts'
import { windowsAfter, type DigestWindows } from './digest-windows.ts'
import {
  hasDigests,
  insertDeliveries,
  insertUnmatched,
  type EventRow,
  type Recipient,
} from './insert-deliveries.ts'

export type FanOutDeps = Storage & WithDirectory & { readonly appUrl: URL }

/** Whether anything moved. An event that cannot be fanned out holds up no other, except those of its own subject. */
export async function shipAndFanOut(deps: FanOutDeps & Log): Promise<boolean> {
  const shipped = await shipOutbox(deps)
  let moved = false
  for (const event of await eventsToFanOut(deps)) {
    try {
      moved = (await fanOut(deps, event)) || moved
    } catch (error) {
      deps.log.warn('an event cannot be fanned out', { event: event.id, error })
    }
  }
  return shipped > 0 || moved
}

type WaitingEvent = { readonly orgId: string; readonly id: string }

/** How many are read at once; workers that read the same ones share them. */
const BATCH = 50

/** Those whose turn it is: no older one of the same subject still waits. */
async function eventsToFanOut({ db }: Storage): Promise<readonly WaitingEvent[]> {
  return db.execute<WaitingEvent>(sql`
    select e.org_id as "orgId", e.id
    from events e
    where e.fanned_out_at is null
      and not exists (
        select from events older
        where older.org_id = e.org_id and older.subject = e.subject and older.seq < e.seq
          and older.fanned_out_at is null
      )
    order by e.seq
    limit ${sql.raw(String(BATCH))}`)
}

/** False: another worker has it. A page at a time, so that its transactions stay short. */
async function fanOut(deps: FanOutDeps, waiting: WaitingEvent): Promise<boolean> {
  let windows: readonly DigestWindows[] = []
  for (;;) {
    const page = await withTransaction(deps.db, (tx) => fanOutPage(deps, tx, waiting, windows))
    if (page === 'done' || page === 'taken') return page === 'done'
    if (page === 'has digests') windows = await nextWindows(deps, waiting.orgId)
  }
}

/** If a window was closed a moment ago, its items belong into the one after it. */
async function nextWindows(
  { db, clock, directory }: FanOutDeps,
  orgId: string,
): Promise<readonly DigestWindows[]> {
  const timezone = (await directory.readOrganization(db, orgId))?.timezone ?? 'UTC'
  const first = await windowsAfter(db, timezone, clock())
  const { hourly } = await windowsAfter(db, timezone, first.hourly)
  const { daily } = await windowsAfter(db, timezone, first.daily)
  return [first, { hourly, daily }]
}

async function fanOutPage(
  deps: FanOutDeps,
  tx: Transaction,
  { orgId, id }: WaitingEvent,
  windows: readonly DigestWindows[],
): Promise<'done' | 'more' | 'taken' | 'has digests'> {
  const { clock, appUrl } = deps
  const event = await lockEvent(tx, orgId, id)
  if (!event) return 'taken'
  // Computed outside the transaction, and only where needed: a time zone that is not known must not undo the whole.
  if (windows.length === 0 && (await hasDigests(tx, event))) return 'has digests'
  await createDefaultsFor(deps, tx, event)
  const { count, people } = await insertDeliveries(tx, clock, event, windows)
  if (people.length > 0) await notifyPeople(deps, tx, event, people, linkOf(event, appUrl))
  if (count >= FAN_OUT_PAGE) return 'more'
  if (count === 0) await insertUnmatched(tx, clock, event)
  await tx.execute(sql`
    update events set fanned_out_at = ${clock().toISOString()}::timestamptz where org_id = ${orgId} and id = ${id}`)
  return 'done'
}

async function lockEvent(tx: Transaction, orgId: string, id: string): Promise<EventRow | undefined> {
  const [row] = await tx.execute<Omit<EventRow, 'seq'> & { seq: string }>(sql`
    select e.org_id as "orgId", e.id, e.type, e.subject, e.actor_id as "actorId", e.concerns_id as "concernsId",
      e.app_id as "appId", e.seq, e.data,
      (select alias from apps a where a.org_id = e.org_id and a.id = e.app_id) as app
    from events e
    where e.org_id = ${orgId} and e.id = ${id} and e.fanned_out_at is null
    for update of e skip locked`)
  return row && { ...row, seq: Number(row.seq) }
}

/** Whoever may know of the event now; whether they may have the message is asked again when it is sent. */
async function notifyPeople(
  { clock, directory }: FanOutDeps,
  tx: Transaction,
  event: EventRow,
  people: readonly Recipient[],
  url: string,
): Promise<void> {
  const { orgId, id: eventId, type, subject } = event
  const keys = people.map(({ userId }) => ({ orgId, userId }))
  const members = await directory.readMembers(tx, keys)
  const permitted = people.filter(({ userId, anyMember, appMembershipId }) => {
    const member = members.get(memberKey({ orgId, userId }))
    if (!member) return false
    return anyMember || appMembershipId === member.membershipId || atLeast(member.role, 'admin')
  })
  const userIds = [...new Set(permitted.map(({ userId }) => userId))]
  const summary = summaryLine(event)
  await addNotifications(tx, clock, userIds, { orgId, eventId, type, subject, summary, url })
}
