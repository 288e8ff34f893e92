import { appMembers, apps } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { write, type Verb } from '../verb.ts'
import { effectiveRole } from './find-app.ts'
import { presentApp } from './present-app.ts'

export const createApp: Verb<'createApp'> = write(
  {
    author: 'developer',
    audit: 'app.created',
    taken: { apps_by_alias: 'An app with this alias already exists' },
  },
  async ({ tx, clock, member, orgId, userId, audit }, { alias, name }) => {
    const { membershipId } = member
    const now = clock()
    const [app] = await tx
      .insert(apps)
      .values({ orgId, id: makeId('app', now.getTime()), alias, name, createdAt: now, createdBy: userId })
      .returning()
    const appRole = effectiveRole(member.role, 'maintainer')
    // Support staff are not members, and only members have a role on an app.
    if (membershipId !== null) {
      await tx
        .insert(appMembers)
        .values({ orgId, appId: app!.id, userId, membershipId, role: 'maintainer', addedAt: now })
    }
    await audit('app.created', alias)
    return presentApp(app!, appRole, 0)
  },
)
