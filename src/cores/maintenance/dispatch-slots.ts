/**
 * The nightly runs of all apps whose time has come, by any number of processes: each takes rows of settings that nobody
 * else has, and a time of an app is dispatched once. After a downtime only the newest time counts, for six hours.
 */
import type { Transaction } from '../../../db/connect.ts'
import { asc, lte, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { maintenanceSettings } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { MAINTENANCE_LATE_SECONDS } from '../../contracts/limits.ts'
import type { Log, Storage } from '../dependencies.ts'
import { lastDueAt } from '../schedule.ts'
import { withTransaction } from '../transaction.ts'
import { nextSlotAfter, type Settings } from './settings-rows.ts'

/** Organizations in one transaction. Its statements are as many for one as for all of them. */
const BATCH = 1_000

/** Returns how many organizations were due. */
export const dispatchSlots = ({ db, clock, log }: Storage & Log): Promise<number> =>
  withTransaction(db, async (tx) => {
    const now = clock()
    const due = await tx
      .select()
      .from(maintenanceSettings)
      .where(lte(maintenanceSettings.nextSlotAt, now))
      .orderBy(asc(maintenanceSettings.nextSlotAt))
      .limit(BATCH)
      .for('update', { skipLocked: true })
    if (due.length === 0) return 0
    const plans = due.map((settings) => planOf(settings, now, log))
    await setNextSlots(tx, plans)
    const slots = await takeSlots(tx, plans, now)
    const wanted = slots.filter((slot): slot is TakenSlot & { id: string } => slot.id !== null)
    await insertRuns(tx, wanted, now)
    return due.length
  })

type Plan = {
  readonly orgId: string
  readonly slotAt: string
  readonly nextSlotAt: string | null
  readonly model: string
  /** Found too late: it is remembered, and nothing runs. */
  readonly isMissed: boolean
}

function planOf(settings: Settings, now: Date, log: Log['log']): Plan {
  const slotAt = newestSlot(settings, now)
  return {
    orgId: settings.orgId,
    slotAt: slotAt.toISOString(),
    nextSlotAt: nextOf(settings, now, log)?.toISOString() ?? null,
    model: settings.model!,
    isMissed: now.getTime() - slotAt.getTime() > MAINTENANCE_LATE_SECONDS * 1000,
  }
}

/** One schedule that cannot be read any more keeps no other waiting. */
function nextOf(settings: Settings, now: Date, log: Log['log']): Date | null {
  try {
    return nextSlotAfter(settings, now)
  } catch (error) {
    log.warn('maintenance: a schedule has no next time', { org: settings.orgId, error })
    return null
  }
}

/** Schedules are an hour apart at least. */
const MINUTE_MS = 60_000

export function newestSlot(
  { nightlyCron, timezone, nextSlotAt }: Pick<Settings, 'nightlyCron' | 'timezone' | 'nextSlotAt'>,
  now: Date,
): Date {
  const first = nextSlotAt!
  if (now.getTime() - first.getTime() < MINUTE_MS) return first
  try {
    return lastDueAt(nightlyCron, timezone, { after: first, until: now }) ?? first
  } catch {
    return first
  }
}

async function setNextSlots(tx: Transaction, plans: readonly Plan[]): Promise<void> {
  await tx.execute(sql`
    update maintenance_settings s set next_slot_at = p."nextSlotAt"
    from json_to_recordset(${JSON.stringify(plans)}::text::json) as p("orgId" text, "nextSlotAt" timestamptz)
    where s.org_id = p."orgId"`)
}

type TakenSlot = {
  readonly orgId: string
  readonly appId: string
  readonly slotAt: string
  readonly model: string
  readonly id: string | null
}

/** Of every app that is on, unless it is taken already. The lock of the settings keeps the switches as they are. */
async function takeSlots(tx: Transaction, plans: readonly Plan[], now: Date): Promise<TakenSlot[]> {
  const apps = await tx.execute<{ orgId: string; appId: string }>(sql`
    select a.org_id as "orgId", a.app_id as "appId"
    from json_to_recordset(${JSON.stringify(plans)}::text::json) as p("orgId" text)
    join app_maintenance a on a.org_id = p."orgId" and a.enabled
    order by 1, 2`)
  if (apps.length === 0) return []
  const planOfOrg = new Map(plans.map((plan) => [plan.orgId, plan]))
  const slots: TakenSlot[] = apps.map(({ orgId, appId }) => {
    const { slotAt, model, isMissed } = planOfOrg.get(orgId)!
    return { orgId, appId, slotAt, model, id: isMissed ? null : makeId('exec', now.getTime()) }
  })
  const taken = await tx.execute<{ orgId: string; appId: string }>(sql`
    insert into maintenance_slots (org_id, app_id, slot_at, execution_id)
    select s."orgId", s."appId", s."slotAt", s.id
    from json_to_recordset(${JSON.stringify(slots)}::text::json)
      as s("orgId" text, "appId" text, "slotAt" timestamptz, id text)
    on conflict do nothing
    returning org_id as "orgId", app_id as "appId"`)
  const isTaken = new Set(taken.map(nameOf))
  return slots.filter((slot) => isTaken.has(nameOf(slot)))
}

const nameOf = ({ orgId, appId }: { orgId: string; appId: string }): string => `${orgId} ${appId}`

/** An app that another run holds has one that was skipped. */
async function insertRuns(
  tx: Transaction,
  slots: readonly (TakenSlot & { id: string })[],
  now: Date,
): Promise<void> {
  if (slots.length === 0) return
  const at = sql`${now.toISOString()}::timestamptz`
  const rows = (of: readonly TakenSlot[]) => sql`
    from json_to_recordset(${JSON.stringify(of)}::text::json)
      as s("orgId" text, "appId" text, "slotAt" timestamptz, model text, id text)`
  const queued = await tx.execute<{ id: string }>(sql`
    insert into maintenance_runs (org_id, id, app_id, status, mode, slot_at, model, created_at)
    select s."orgId", s.id, s."appId", 'queued', 'nightly', s."slotAt", s.model, ${at} ${rows(slots)}
    on conflict do nothing
    returning id`)
  await notify(tx, 'maintenance')
  const isQueued = new Set(queued.map(({ id }) => id))
  const skipped = slots.filter(({ id }) => !isQueued.has(id))
  if (skipped.length === 0) return
  await tx.execute(sql`
    insert into maintenance_runs
      (org_id, id, app_id, status, terminal_code, reason, mode, slot_at, model, created_at, ended_at)
    select s."orgId", s.id, s."appId", 'ended', 'skipped', 'ANOTHER_RUN', 'nightly', s."slotAt", s.model, ${at}, ${at}
    ${rows(skipped)}`)
}
