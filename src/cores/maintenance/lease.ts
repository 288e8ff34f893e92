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

/** By the database's clock, which is the same for all processes. */
export const leaseFromNow = sql`clock_timestamp() + make_interval(secs => ${sql.raw(String(MAINTENANCE_LEASE_SECONDS))})`

export const isLeaseOf = ({ orgId, appId }: { orgId: string; appId: string }) =>
  and(eq(appLeases.orgId, orgId), eq(appLeases.appId, appId))

const isHeldBy = (run: RunKey) =>
  and(
    isLeaseOf(run),
    eq(appLeases.executionId, run.executionId),
    eq(appLeases.fence, run.fence),
    sql`${appLeases.expiresAt} > clock_timestamp()`,
  )

/** First in the transaction of every write of a run. */
export async function underLease(tx: Transaction, run: RunKey): Promise<void> {
  const [held] = await tx.select({ fence: appLeases.fence }).from(appLeases).where(isHeldBy(run)).for('share')
  if (!held) throw new Fenced()
}

/** The same for a single statement, as a part of it: without a row nothing of it may be written. */
export const heldLease = ({ orgId, appId, executionId, fence }: RunKey) => sql`
  select 1 from ${appLeases} where org_id = ${orgId} and app_id = ${appId} and execution_id = ${executionId}
    and fence = ${String(fence)}::bigint and expires_at > clock_timestamp() for share`

/** Before every read of a run. What is read a moment later than the lease ended changes nothing. */
export async function requireHeld(db: Handle, run: RunKey): Promise<void> {
  const [held] = await db.select({ fence: appLeases.fence }).from(appLeases).where(isHeldBy(run))
  if (!held) throw new Fenced()
}

/** Returns for how many seconds it is held from now on. */
export async function renewLease(db: Handle, run: RunKey): Promise<number> {
  if (!(await tryRenewLease(db, run))) throw new Fenced()
  return MAINTENANCE_LEASE_SECONDS
}

export async function tryRenewLease(db: Handle, run: RunKey): Promise<boolean> {
  const renewed = await db
    .update(appLeases)
    .set({ expiresAt: leaseFromNow })
    .where(isHeldBy(run))
    .returning({ fence: appLeases.fence })
  return renewed.length === 1
}

/** By the run itself, which then holds it no longer: every later write of it is refused. */
export async function releaseLease(tx: Transaction, run: RunKey): Promise<void> {
  const released = await tx
    .update(appLeases)
    .set({ executionId: null, expiresAt: null })
    .where(isHeldBy(run))
    .returning({ fence: appLeases.fence })
  if (released.length === 0) throw new Fenced()
}
