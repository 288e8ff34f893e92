import { eq } from '../../../db/drizzle.ts'
import { sessions, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'

export const switchOrganization =
  ({ db }: Storage): Handler<'switchOrganization'> =>
  async (principal) => {
    const member = requireMember(principal)
    if (member.sessionId !== undefined) {
      await db.update(sessions).set({ orgId: member.orgId }).where(eq(sessions.id, member.sessionId))
      // The next sign-in starts in the same organization.
      await db.update(users).set({ lastOrgId: member.orgId }).where(eq(users.id, member.userId))
    }
    return {}
  }
