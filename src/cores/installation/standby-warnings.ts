/** What the operator should know of the standbys of the database, read from the server itself. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'

/** Without one that commits wait for, whatever the last ones were is gone with the server. */
const NO_SYNCHRONOUS_STANDBY =
  'The database has a standby, and no commit waits for it (synchronous_standby_names is empty): a failover can lose the last changes, and what was revoked by them works again'

export async function standbyWarnings(db: Handle): Promise<readonly string[]> {
  const [row] = await db.execute<{ is_alone: boolean }>(sql`
    select current_setting('synchronous_standby_names', true) = '' and exists (select from pg_stat_replication) as is_alone`)
  return row?.is_alone ? [NO_SYNCHRONOUS_STANDBY] : []
}
