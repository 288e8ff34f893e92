/** What an ending cannot take back: who has read which connection string, as the audit trail tells, and it was not rotated since. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { Remains } from '../../contracts/receipt-format.ts'

/** `userId`: null for everybody of the organization. */
export async function readRemains(db: Handle, orgId: string, userId: string | null): Promise<Remains[]> {
  const shown = await db.execute<{ subject: string; name: string; at: string }>(sql`
    select distinct on (subject, actor_id) subject, actor_name as name, at::text as at from audit_log shown
    where org_id = ${orgId} and action = 'database.connection_shown'
      and (${userId}::text is null or actor_id = ${userId}::text)
      and not exists (select from audit_log later where later.org_id = ${orgId} and later.subject = shown.subject
        and later.action in ('database.rotated', 'database.removed') and later.at >= shown.at)
    order by subject, actor_id, shown.at desc`)
  const names = [...new Set(shown.map(({ subject }) => subject.slice('db_'.length)))]
  if (names.length === 0) return []
  const living = await db
    .select({ name: dataSources.name })
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), inArray(dataSources.name, names)))
  const isThere = new Set(living.map(({ name }) => `db_${name}`))
  return shown
    .filter(({ subject }) => isThere.has(subject))
    .map(({ subject, name, at }) => ({
      connection_string: subject,
      read_by: name,
      read_at: new Date(at).toISOString(),
    }))
}
