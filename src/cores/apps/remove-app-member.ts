import { and, eq } from '../../../db/drizzle.ts'
import { appMembers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { memberKey, type WithDirectory } from '../directory/index.ts'
import { recordNarrowing } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { appMemberRight, hasAppMemberKey, requireApp, requireMaintainer } from './find-app.ts'

export const removeAppMember: Verb<'removeAppMember', WithDirectory> = write(
  { audit: 'app.member_removed' },
  async ({ tx, member, orgId, userId, directory, audit }, { alias, user_id }) => {
    const { app, appRole } = await requireApp(directory, tx, member, alias)
    // Whoever leaves an app by themself needs their role on it, which a capped token has not.
    if (user_id !== userId) requireMaintainer(appRole)
    else if (appRole === null) throw notFound()
    const key = { orgId, userId: user_id }
    const membershipId = (await directory.readMembers(tx, [key])).get(memberKey(key))?.membershipId
    if (membershipId === undefined) throw notFound()
    const [gone] = await tx
      .delete(appMembers)
      .where(and(hasAppMemberKey(orgId, app.id, user_id), eq(appMembers.membershipId, membershipId)))
      .returning({ role: appMembers.role })
    if (!gone) throw notFound()
    await recordNarrowing(tx, 'app_member', { ...appMemberRight(orgId, app.id, user_id), to: { role: null } })
    const people = await directory.readPeople(tx, [key])
    await audit('app.member_removed', `${alias}: ${people.get(user_id)?.email ?? user_id}`)
    return {}
  },
)
