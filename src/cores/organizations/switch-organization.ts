import { eq } from '../../../db/drizzle.ts'
import { sessions, users } from '../../../db/schema.ts'
import { write, type Verb } from '../verb.ts'

export const switchOrganization: Verb<'switchOrganization'> = write(
  {},
  async ({ tx, member, orgId, userId }) => {
    if (member.sessionId === undefined) return {}
    await tx.update(sessions).set({ orgId }).where(eq(sessions.id, member.sessionId))
    // The next sign-in starts in the same organization.
    await tx.update(users).set({ lastOrgId: orgId }).where(eq(users.id, userId))
    return {}
  },
)
