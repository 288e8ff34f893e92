import { appMembers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { appMemberRight, hasAppMemberKey, requireApp, requireMaintainer } from './find-app.ts'

export const setAppMember: Verb<'setAppMember', WithDirectory> = write(
  { author: 'viewer', audit: 'app.member_set' },
  async ({ tx, clock, member, orgId, directory, audit }, { alias, user_id, role }) => {
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
      const right = appMemberRight(orgId, app.id, user_id)
      if (existing && role === 'builder') await recordNarrowing(tx, 'app_member', { ...right, to: { role } })
      else await recordWidening(tx, 'app_member', right)
      await audit('app.member_set', `${alias}: ${person.email ?? user_id} as ${role}`)
    }
    return { user_id, name: person.name, role, added_at: addedAt.toISOString() }
  },
)
