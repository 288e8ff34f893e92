/** The organizations in which the principal, as support staff, has a live session. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizations, supportSessions } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { isLive, levelOf } from './live-support-session.ts'

export const listMySupportSessions: Verb<'listMySupportSessions'> = list(
  { by: 'person', rows: 'support_sessions', desc: [supportSessions.id] },
  async ({ db, clock, userId, page }) =>
    page({
      from: () =>
        db
          .select({
            session: supportSessions,
            organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
          })
          .from(supportSessions)
          .innerJoin(organizations, eq(organizations.id, supportSessions.orgId)),
      where: and(eq(supportSessions.staffId, userId), isLive(clock)),
      key: ({ session }) => [session.id],
      present: (rows) =>
        rows.map(({ session, organization }) => ({
          id: session.id,
          organization,
          level: levelOf(session),
          expires_at: session.expiresAt.toISOString(),
        })),
    }),
)
