/** How long a claim holds without a word of its worker. By the database's clock: those of processes may differ. */
import { sql } from '../../../db/drizzle.ts'
import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'

export const leaseEnd = () =>
  sql`clock_timestamp() + make_interval(secs => ${String(PIPELINE_LEASE_SECONDS)}::double precision)`
