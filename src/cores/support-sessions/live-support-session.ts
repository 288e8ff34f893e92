/** Whether support staff are in an organization at this moment, and at which level. Read on every call, so ending one acts on the next. */
import { and, desc, eq, gt, isNull, or } from '../../../db/drizzle.ts'
import { organizations, supportSessions } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

/** Never owner: the level is the only role a support session has. */
export const levelOf = (row: { elevatedAt: Date | null }): 'viewer' | 'admin' =>
  row.elevatedAt === null ? 'viewer' : 'admin'

export const isLive = (clock: Storage['clock']) =>
  and(isNull(supportSessions.endedAt), gt(supportSessions.expiresAt, clock()))

export async function findLiveSupportSession({ db, clock }: Storage, userId: string, organization: string) {
  const [found] = await db
    .select({
      session: supportSessions,
      organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
    })
    .from(supportSessions)
    .innerJoin(organizations, eq(organizations.id, supportSessions.orgId))
    .where(
      and(
        eq(supportSessions.staffId, userId),
        isLive(clock),
        or(eq(organizations.id, organization), eq(organizations.slug, organization)),
        eq(organizations.supportAccessEnabled, true),
      ),
    )
    .orderBy(desc(supportSessions.id))
    .limit(1)
  return found && { id: found.session.id, level: levelOf(found.session), organization: found.organization }
}

export const hasSupportSessionId = (orgId: string, id: string) =>
  and(eq(supportSessions.orgId, orgId), eq(supportSessions.id, id))
