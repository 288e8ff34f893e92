/** Is somebody visiting an organization at this moment, and as what? Read anew on every call, so an end acts on the next. */
import { and, desc, eq, gt, isNull, or } from '../../../db/drizzle.ts'
import { organizations, supportSessions } from '../../../db/schema.ts'
import type { Storage } from '../needs.ts'

/** Never owner, whatever happens: the level is all a visit has. */
export const levelOf = (row: { elevatedAt: Date | null }): 'viewer' | 'admin' =>
  row.elevatedAt === null ? 'viewer' : 'admin'

export const isLive = (clock: Storage['clock']) =>
  and(isNull(supportSessions.endedAt), gt(supportSessions.expiresAt, clock()))

export async function findLiveVisit({ db, clock }: Storage, userId: string, organization: string) {
  const [found] = await db
    .select({
      visit: supportSessions,
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
  return found && { id: found.visit.id, level: levelOf(found.visit), organization: found.organization }
}
