/** Whom the directory of an organization has set inactive or deleted: their email domain does not bring them in. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, or, sql } from '../../../db/drizzle.ts'
import { provisionedPeople as people } from '../../../db/schema.ts'

/** Held in a transaction: whoever is being set inactive at this moment is waited for, and those who join are found by it. */
export async function isInactiveAtDirectory(db: Handle, orgId: string, email: string): Promise<boolean> {
  const [latest] = await db
    .select({ active: people.active })
    .from(people)
    .where(
      and(eq(people.orgId, orgId), or(eq(people.email, email), sql`lower(${people.userName}) = ${email}`)),
    )
    .orderBy(desc(people.id))
    .limit(1)
    .for('share')
  return latest !== undefined && !latest.active
}
