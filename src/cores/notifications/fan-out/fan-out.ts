/**
 * From events to everybody they are for: deliveries with their messages or their place in a digest, inbox notifications,
 * and a row in the ledger also for an event that is for nobody. A batch goes round the organizations, oldest first within
 * each, and one worker at a time has an organization: events of one subject keep their order.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { isAppEvent } from '../../../contracts/events.ts'
import { atLeast } from '../../../contracts/roles.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import { notifyChanges } from '../../changes/index.ts'
import type { Log, Storage } from '../../dependencies.ts'
import { memberKey, type WithDirectory } from '../../directory/index.ts'
import { withTransaction } from '../../transaction.ts'
import { inboxLine, linkOf } from '../channels/render.ts'
import { shipOutbox } from '../../outbox.ts'
import { addNotifications } from '../inbox/add-notifications.ts'
import { chooseEvents, chooseEvent, type ChooseEvents } from './choose-events.ts'
import { createDefaultsFor } from './default-subscriptions.ts'
import { stopFormerAddresses } from './stop-former-addresses.ts'
import { windowsAfter, type DigestWindows } from './digest-windows.ts'
import {
  insertDeliveries,
  insertUnmatched,
  isOfBatch,
  organizationsWithDigests,
  type EventRow,
  type Recipient,
  type Windows,
} from './insert-deliveries.ts'

export type FanOutDeps = Storage & WithDirectory & { readonly appUrl: URL; readonly dataKeys: DataKeys }

/** Whether anything moved. */
export async function shipAndFanOut(deps: FanOutDeps & Log): Promise<boolean> {
  const shipped = await shipOutbox(deps)
  return (await fanOut(deps)) || shipped > 0
}

async function fanOut(deps: FanOutDeps & Log): Promise<boolean> {
  let batch: readonly EventRow[] = []
  try {
    return await fanOutBatch(deps, async (tx) => (batch = await chooseEvents(deps, tx, batch)))
  } catch (error) {
    if (batch.length === 0) throw error
    return fanOutOneByOne(deps, batch)
  }
}

/** One of them cannot be fanned out: it holds up no other, except those of its own subject. */
async function fanOutOneByOne(deps: FanOutDeps & Log, batch: readonly EventRow[]): Promise<boolean> {
  let moved = false
  for (const { orgId, id } of batch) {
    try {
      moved = (await fanOutBatch(deps, (tx) => chooseEvent(tx, deps.clock, { orgId, id }))) || moved
    } catch (error) {
      deps.log.warn('an event cannot be fanned out', { event: id, error })
      await postpone(deps, { orgId, id })
    }
  }
  return moved
}

const POSTPONED_BY = sql.raw(`interval '1 minute'`)

async function postpone({ db, clock }: Storage, { orgId, id }: { orgId: string; id: string }): Promise<void> {
  await db.execute(sql`
    update events set fan_out_again_at = ${clock().toISOString()}::timestamptz + ${POSTPONED_BY}
    where org_id = ${orgId} and id = ${id} and fanned_out_at is null`)
}

/** False: there was none. A page at a time, so that its transactions stay short; the next call goes on. */
async function fanOutBatch(deps: FanOutDeps, choose: ChooseEvents): Promise<boolean> {
  const windows = new Map<string, readonly [DigestWindows, DigestWindows]>()
  for (;;) {
    const page = await withTransaction(deps.db, (tx) => fanOutPage(deps, tx, choose, windows))
    if (typeof page === 'boolean') return page
    // Outside the transaction, and only where needed: a time zone that is not known must not undo the whole.
    for (const orgId of page.missingWindows) windows.set(orgId, await nextWindows(deps, orgId))
  }
}

/** If a window was closed a moment ago, its items belong into the one after it. */
async function nextWindows(
  { db, clock, directory }: FanOutDeps,
  orgId: string,
): Promise<readonly [DigestWindows, DigestWindows]> {
  const timezone = (await directory.readOrganization(db, orgId))?.timezone ?? 'UTC'
  const first = await windowsAfter(db, timezone, clock())
  const { hourly } = await windowsAfter(db, timezone, first.hourly)
  const { daily } = await windowsAfter(db, timezone, first.daily)
  return [first, { hourly, daily }]
}

async function fanOutPage(
  deps: FanOutDeps,
  tx: Transaction,
  choose: ChooseEvents,
  windows: Windows,
): Promise<boolean | { readonly missingWindows: readonly string[] }> {
  // A plan that was kept from when the tables were small reads all of them for each event, or each organization.
  await tx.execute(sql`set local plan_cache_mode = force_custom_plan`)
  const batch = await choose(tx)
  if (batch.length === 0) return false
  await stopFormerAddresses(deps, tx, batch)
  await createDefaultsFor(deps, tx, batch)
  const missingWindows = (await organizationsWithDigests(tx, batch)).filter((orgId) => !windows.has(orgId))
  if (missingWindows.length > 0) return { missingWindows }
  const { isPageFull, people } = await insertDeliveries(tx, deps.clock, batch, windows)
  await notify(tx, 'messages')
  await notifyChanges(
    tx,
    'deliveries',
    batch.map(({ orgId }) => ({ orgId })),
  )
  const told = [...people, ...(await peopleOfApps(tx, batch))]
  if (told.length > 0) await notifyPeople(deps, tx, batch, told)
  if (isPageFull) return true
  await insertUnmatched(tx, deps.clock, batch)
  const done = batch.map(({ orgId, id }) => ({ orgId, id }))
  await tx.execute(sql`
    update events e set fanned_out_at = ${deps.clock().toISOString()}::timestamptz
    from json_to_recordset(${JSON.stringify(done)}::text::json) as d("orgId" text, id text)
    where e.org_id = d."orgId" and e.id = d.id and ${isOfBatch(sql`e.id`, batch)}`)
  return true
}

/** decisions, 11: what an app sends itself goes to the inbox of whoever builds or maintains it, subscribed or not. */
async function peopleOfApps(tx: Transaction, batch: readonly EventRow[]): Promise<readonly Recipient[]> {
  const sent = batch.filter(({ type, appId }) => isAppEvent(type) && appId !== null)
  if (sent.length === 0) return []
  const given = sent.map(({ orgId, id, appId }) => ({ orgId, id, appId }))
  const rows = await tx.execute<Omit<Recipient, 'anyMember'>>(sql`
    select e."orgId", e.id as "eventId", m.user_id as "userId", m.membership_id as "appMembershipId"
    from json_to_recordset(${JSON.stringify(given)}::text::json) as e("orgId" text, id text, "appId" text)
    join app_members m on m.org_id = e."orgId" and m.app_id = e."appId"`)
  return rows.map((row) => ({ ...row, anyMember: false }))
}

/** Whoever may know of the event now; whether they may have the message is asked again when it is sent. */
async function notifyPeople(
  { clock, directory, appUrl }: FanOutDeps,
  tx: Transaction,
  batch: readonly EventRow[],
  people: readonly Recipient[],
): Promise<void> {
  const members = await directory.readMembers(tx, people)
  const events = new Map(batch.map((event) => [`${event.orgId} ${event.id}`, event]))
  const permitted = people.filter(({ anyMember, appMembershipId, ...person }) => {
    const member = members.get(memberKey(person))
    if (!member) return false
    return anyMember || appMembershipId === member.membershipId || atLeast(member.role, 'admin')
  })
  const rows = permitted.map(({ orgId, eventId, userId }) => {
    const event = events.get(`${orgId} ${eventId}`)!
    const { type, subject } = event
    return { orgId, userId, eventId, type, subject, summary: inboxLine(event), url: linkOf(event, appUrl) }
  })
  await addNotifications(tx, clock, rows)
}
