import { and, eq } from '../../../db/drizzle.ts'
import { appMembers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { memberKey, type WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { hasAppMemberKey, requireApp, requireMaintainer } from './find-app.ts'

export const removeAppMember =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'removeAppMember'> =>
  (principal, { alias, user_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { app, appRole } = await requireApp(directory, tx, member, alias)
      // Whoever leaves an app by themself needs their role on it, which a capped token has not.
      if (user_id !== member.userId) requireMaintainer(appRole)
      else if (appRole === null) throw notFound()
      const key = { orgId, userId: user_id }
      const membershipId = (await directory.readMembers(tx, [key])).get(memberKey(key))?.membershipId
      if (membershipId === undefined) throw notFound()
      const [gone] = await tx
        .delete(appMembers)
        .where(and(hasAppMemberKey(orgId, app.id, user_id), eq(appMembers.membershipId, membershipId)))
        .returning({ role: appMembers.role })
      if (!gone) throw notFound()
      const people = await directory.readPeople(tx, [key])
      const subject = `${alias}: ${people.get(user_id)?.email ?? user_id}`
      await recordAudit(tx, clock, member, { orgId, action: 'app.member_removed', subject })
      return {}
    })
