/** Who builds and who maintains an app: members of the organization, put there by those who maintain it. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { appMembers, memberships, users } from '../../../db/schema.ts'
import type { removeAppMember, setAppMember } from '../../contracts/apps.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { requireMaintainer } from './apps.ts'
import { appFor } from './find-app.ts'

export const putOnApp =
  ({ db, clock }: Storage): Handler<typeof setAppMember> =>
  (who, { alias, user_id, role }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const { app, part } = await appFor(tx, caller, alias)
      requireMaintainer(part)
      const person = await memberOf(tx, orgId, user_id)
      const [before] = await tx
        .select()
        .from(appMembers)
        .where(onApp(orgId, app.id, user_id))
        .for('update')
      const addedAt = before?.addedAt ?? clock()
      if (before?.role !== role) {
        await tx
          .insert(appMembers)
          .values({ orgId, appId: app.id, userId: user_id, role, addedAt })
          .onConflictDoUpdate({
            target: [appMembers.orgId, appMembers.appId, appMembers.userId],
            set: { role },
          })
        const subject = `${alias}: ${person.email} as ${role}`
        await recordAudit(tx, clock, caller, { orgId, action: 'app.member_set', subject })
      }
      return { user_id, name: person.name, role, added_at: addedAt.toISOString() }
    })

export const takeOffApp =
  ({ db, clock }: Storage): Handler<typeof removeAppMember> =>
  (who, { alias, user_id }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const { app, part } = await appFor(tx, caller, alias)
      if (user_id !== caller.userId) requireMaintainer(part)
      const [gone] = await tx
        .delete(appMembers)
        .where(onApp(orgId, app.id, user_id))
        .returning({ role: appMembers.role })
      if (!gone) throw notFound()
      const [person] = await tx.select({ email: users.email }).from(users).where(eq(users.id, user_id))
      const subject = `${alias}: ${person?.email ?? user_id}`
      await recordAudit(tx, clock, caller, { orgId, action: 'app.member_removed', subject })
      return {}
    })

/** Of somebody whose membership ends. Nothing reads these rows then; a person who comes back begins anew. */
export async function leaveApps(tx: Transaction, orgId: string, userId: string): Promise<void> {
  await tx.delete(appMembers).where(and(eq(appMembers.orgId, orgId), eq(appMembers.userId, userId)))
}

const onApp = (orgId: string, appId: string, userId: string) =>
  and(eq(appMembers.orgId, orgId), eq(appMembers.appId, appId), eq(appMembers.userId, userId))

/** Held until the end, so that nobody is put on an app while they are being removed. */
async function memberOf(tx: Transaction, orgId: string, userId: string) {
  const [row] = await tx
    .select({ email: users.email, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for('share', { of: memberships })
  if (!row) throw notFound()
  return row
}
