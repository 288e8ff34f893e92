import { appMembers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { hasAppMemberKey, requireApp, requireMaintainer } from './find-app.ts'

export const setAppMember =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'setAppMember'> =>
  (principal, { alias, user_id, role }) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'viewer')
      const { orgId } = member
      const { app, appRole } = await requireApp(directory, tx, member, alias)
      requireMaintainer(appRole)
      const person = await directory.lockMember(tx, { orgId, userId: user_id })
      if (!person) throw notFound()
      const { membershipId } = person
      const [stored] = await tx
        .select()
        .from(appMembers)
        .where(hasAppMemberKey(orgId, app.id, user_id))
        .for('update')
      const existing = stored?.membershipId === membershipId ? stored : undefined
      const addedAt = existing?.addedAt ?? clock()
      if (existing?.role !== role) {
        await tx
          .insert(appMembers)
          .values({ orgId, appId: app.id, userId: user_id, membershipId, role, addedAt })
          .onConflictDoUpdate({
            target: [appMembers.orgId, appMembers.appId, appMembers.userId],
            set: { membershipId, role, addedAt },
          })
        const subject = `${alias}: ${person.email ?? user_id} as ${role}`
        await recordAudit(tx, clock, member, { orgId, action: 'app.member_set', subject })
      }
      return { user_id, name: person.name, role, added_at: addedAt.toISOString() }
    })
