import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { appMembers, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { isAppMember, requireApp, requireMaintainer } from './find-app.ts'

export const removeAppMember =
  ({ db, clock }: Storage): Handler<'removeAppMember'> =>
  (principal, { alias, user_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { app, appRole } = await requireApp(tx, member, alias)
      if (user_id !== member.userId) requireMaintainer(appRole)
      const [gone] = await tx
        .delete(appMembers)
        .where(isAppMember(orgId, app.id, user_id))
        .returning({ role: appMembers.role })
      if (!gone) throw notFound()
      const [person] = await tx.select({ email: users.email }).from(users).where(eq(users.id, user_id))
      const subject = `${alias}: ${person?.email ?? user_id}`
      await recordAudit(tx, clock, member, { orgId, action: 'app.member_removed', subject })
      return {}
    })

/** When a membership ends: a person who comes back has none of their old roles. */
export async function removeFromApps(tx: Transaction, orgId: string, userId: string): Promise<void> {
  await tx.delete(appMembers).where(and(eq(appMembers.orgId, orgId), eq(appMembers.userId, userId)))
}
