/** Leases of runners, by the database's clock: it is the same for all processes. */
import { sql } from '../../../db/drizzle.ts'
import { DEPLOYMENT_LEASE_SECONDS } from '../../contracts/limits.ts'

export const leaseFromNow = sql`clock_timestamp() + make_interval(secs => ${sql.raw(String(DEPLOYMENT_LEASE_SECONDS))})`
export const leaseIsOver = sql`lease_until < clock_timestamp()`
