import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { appMembers, memberships, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { isAppMember, requireApp, requireMaintainer } from './find-app.ts'

export const setAppMember =
  ({ db, clock }: Storage): Handler<'setAppMember'> =>
  (principal, { alias, user_id, role }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { app, appRole } = await requireApp(tx, member, alias)
      requireMaintainer(appRole)
      const person = await lockMember(tx, orgId, user_id)
      const [existing] = await tx
        .select()
        .from(appMembers)
        .where(isAppMember(orgId, app.id, user_id))
        .for('update')
      const addedAt = existing?.addedAt ?? clock()
      if (existing?.role !== role) {
        await tx
          .insert(appMembers)
          .values({ orgId, appId: app.id, userId: user_id, role, addedAt })
          .onConflictDoUpdate({
            target: [appMembers.orgId, appMembers.appId, appMembers.userId],
            set: { role },
          })
        const subject = `${alias}: ${person.email} as ${role}`
        await recordAudit(tx, clock, member, { orgId, action: 'app.member_set', subject })
      }
      return { user_id, name: person.name, role, added_at: addedAt.toISOString() }
    })

/** Locked until the end, so that nobody is added to an app while they are being removed. */
async function lockMember(tx: Transaction, orgId: string, userId: string) {
  const [row] = await tx
    .select({ email: users.email, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for('share', { of: memberships })
  if (!row) throw notFound()
  return row
}
