import { isUniqueViolation } from '../../../db/connect.ts'
import { appMembers, apps } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { effectiveRole } from './find-app.ts'
import { presentApp } from './present-app.ts'

export const createApp =
  ({ db, clock }: Storage): Handler<'createApp'> =>
  async (principal, { alias, name }) => {
    const { orgId, userId } = requireMember(principal)
    try {
      return await withTransaction(db, async (tx) => {
        const member = await lockAuthor(tx, clock, requireMember(principal), 'developer')
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
        await recordAudit(tx, clock, member, { orgId, action: 'app.created', subject: alias })
        return presentApp(app!, appRole, 0)
      })
    } catch (error) {
      if (!isUniqueViolation(error, 'apps_by_alias')) throw error
      throw new ServiceError('CONFLICT', 'An app with this alias already exists')
    }
  }
