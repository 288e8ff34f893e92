/**
 * Who changed what decides when and how the agent works: within a day before a run they count as its requesters, so that
 * nobody sets a schedule and approves alone what comes of it. The other admins are told at once.
 */
import { randomUUID } from 'node:crypto'
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, desc, eq, gt, isNull, lt, or } from '../../../db/drizzle.ts'
import { maintenanceChanges } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEvent } from '../outbox.ts'
import type { MemberPrincipal } from '../principal.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Longer than a run waits and works. */
const KEPT_MS = 7 * DAY_MS

/** `appId`: null where it is about every app of the organization. In the transaction of the change. */
export async function recordChange(
  tx: Transaction,
  clock: Clock,
  { orgId, userId, userName }: MemberPrincipal,
  appId: string | null,
): Promise<void> {
  const at = clock()
  await tx
    .delete(maintenanceChanges)
    .where(
      and(eq(maintenanceChanges.orgId, orgId), lt(maintenanceChanges.at, new Date(at.getTime() - KEPT_MS))),
    )
  const id = randomUUID()
  await tx.insert(maintenanceChanges).values({ orgId, id, appId, userId, userName, at })
  await recordEvent(tx, clock, {
    orgId,
    type: 'org.maintenance.changed',
    subject: `maintenance/${appId ?? 'settings'}`,
    source: 'maintenance',
    dedupKey: `maintenance.changed:${id}`,
    actorId: userId,
    data: { user_id: userId },
  })
}

export type Changer = { readonly id: string; readonly name: string }

/**
 * Whoever changed something about this app within a day before the run, or since: what waits and what works is done by the
 * settings of that moment.
 */
export async function readChangers(
  db: Handle,
  { orgId, appId, createdAt }: { readonly orgId: string; readonly appId: string; readonly createdAt: Date },
): Promise<Changer[]> {
  const { appId: ofApp, at, userId, userName } = maintenanceChanges
  const rows = await db
    .select({ id: userId, name: userName })
    .from(maintenanceChanges)
    .where(
      and(
        eq(maintenanceChanges.orgId, orgId),
        or(isNull(ofApp), eq(ofApp, appId)),
        gt(at, new Date(createdAt.getTime() - DAY_MS)),
      ),
    )
    .orderBy(desc(at))
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}

/** From when on somebody may approve what new runs propose; null: now. */
export async function decidesFrom(
  db: Handle,
  orgId: string,
  user: string | null,
  now: Date,
): Promise<Date | null> {
  if (user === null) return null
  const [last] = await db
    .select({ at: maintenanceChanges.at })
    .from(maintenanceChanges)
    .where(
      and(
        eq(maintenanceChanges.orgId, orgId),
        eq(maintenanceChanges.userId, user),
        gt(maintenanceChanges.at, new Date(now.getTime() - DAY_MS)),
      ),
    )
    .orderBy(desc(maintenanceChanges.at))
    .limit(1)
  return last ? new Date(last.at.getTime() + DAY_MS) : null
}
