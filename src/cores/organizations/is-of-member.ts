/** Browser sessions of everybody in an organization; a login of the client is of one organization anyway. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { memberships, sessions } from '../../../db/schema.ts'

export function isOfMember(tx: Transaction, orgId: string): SQL {
  const people = tx.select({ id: memberships.userId }).from(memberships).where(eq(memberships.orgId, orgId))
  return and(eq(sessions.kind, 'browser'), inArray(sessions.userId, people))!
}
