/** Whom the directory of an organization has set inactive or deleted: their email domain does not bring them in. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, sql } from '../../../db/drizzle.ts'
import { provisionedPeople as people } from '../../../db/schema.ts'

/** Held in a transaction: whoever is being set inactive at this moment is waited for, and those who join are found by it. */
export async function isInactiveAtDirectory(db: Handle, orgId: string, email: string): Promise<boolean> {
  // Each by an index: a condition with both would read the whole directory.
  const byEmail = await latestOf(db, orgId, eq(people.email, email))
  const byName = await latestOf(db, orgId, sql`lower(${people.userName}) = ${email}`)
  const latest = byEmail && byName ? (byEmail.id < byName.id ? byName : byEmail) : (byEmail ?? byName)
  return latest !== undefined && !latest.active
}

async function latestOf(
  db: Handle,
  orgId: string,
  hasAddress: SQL,
): Promise<{ readonly id: string; readonly active: boolean } | undefined> {
  const [latest] = await db
    .select({ id: people.id, active: people.active })
    .from(people)
    .where(and(eq(people.orgId, orgId), hasAddress))
    .orderBy(desc(people.id))
    .limit(1)
    .for('share')
  return latest
}
