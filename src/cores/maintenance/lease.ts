/**
 * One run holds an app: a lease with a fence that grows whenever its holder changes. Every write of a run asks for the row
 * in its own transaction and keeps it until the end, so turning the agent off waits for the write or comes before it.
 *
 * Whoever locks several rows locks them in this order: settings, the app's switch, the lease, reservations, the token
 * pool, the run.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appLeases } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { MAINTENANCE_LEASE_SECONDS } from '../../contracts/limits.ts'
import { leased } from '../work/index.ts'

/** What a run is known by: its identity carries this and nothing else. */
export type RunKey = {
  readonly orgId: string
  readonly appId: string
  readonly executionId: string
  readonly fence: number
}

/** The run is over for whoever asks: turned off, lost, or ended. Nothing of it is written any more. */
export class Fenced extends ServiceError {
  constructor() {
    super('CONFLICT', 'This run does not hold the app any more')
  }
}

export const appLease = leased(appLeases, {
  heldBy: ['orgId', 'appId', 'executionId', 'fence'],
  holder: 'executionId',
  fence: 'fence',
  until: 'expiresAt',
  seconds: MAINTENANCE_LEASE_SECONDS,
  endsByItself: true,
})

export const isLeaseOf = ({ orgId, appId }: { orgId: string; appId: string }) =>
  and(eq(appLeases.orgId, orgId), eq(appLeases.appId, appId))

/** A part of every statement of a run that writes: without a row nothing of it may be written. */
export const heldLease = (run: RunKey) =>
  sql`select 1 from ${appLeases} where ${appLease.isHeld(run)} for share`

/** First in the transaction of every write of a run. */
export async function underLease(tx: Transaction, run: RunKey): Promise<void> {
  const held = await tx.execute(heldLease(run))
  if (held.length === 0) throw new Fenced()
}

/** Before every read of a run. What is read a moment later than the lease ended changes nothing. */
export async function requireHeld(db: Handle, run: RunKey): Promise<void> {
  const [held] = await db.select({ fence: appLeases.fence }).from(appLeases).where(appLease.isHeld(run))
  if (!held) throw new Fenced()
}

/** Returns for how many seconds it is held from now on. */
export async function renewLease(db: Handle, run: RunKey): Promise<number> {
  if (!(await appLease.renew(db, appLease.isHeld(run)))) throw new Fenced()
  return MAINTENANCE_LEASE_SECONDS
}
