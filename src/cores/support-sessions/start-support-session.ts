/** The operator starts a support session for a member of staff, unless the owners have turned support access off. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq, isNotNull, or } from '../../../db/drizzle.ts'
import { memberships, organizations, supportSessions, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Storage } from '../dependencies.ts'
import { write, type Verb } from '../verb.ts'
import { isLive } from './live-support-session.ts'
import { presentSupportSession } from './present-support-session.ts'
import { supportSessionEvent } from './support-session-event.ts'

export const startSupportSession: Verb<'startSupportSession'> = write(
  { by: 'principal', audit: 'support.started', events: 'org.support_access.started' },
  async ({ tx, clock, principal, audit, event }, { org, staff_email, reason, minutes }) => {
    const orgId = await findOpenOrganization(tx, org)
    const staff = await findStaff(tx, staff_email)
    await refuseSecondAccess(tx, clock, orgId, staff.id)
    const now = clock()
    const [row] = await tx
      .insert(supportSessions)
      .values({
        orgId,
        id: makeId('sup', now.getTime()),
        staffId: staff.id,
        reason,
        startedAt: now,
        expiresAt: new Date(now.getTime() + minutes * 60_000),
      })
      .returning()
    const as = { ...principal, orgId, supportSessionId: row!.id }
    await audit('support.started', `${staff.email}: ${reason}`, { orgId, as })
    await event(supportSessionEvent(row!, 'org.support_access.started'))
    return { ...presentSupportSession(row!, staff, now), org_id: orgId }
  },
)

/** Locked: support access that is turned off at this moment is either read here, or finds this session and ends it. */
async function findOpenOrganization(tx: Transaction, idOrSlug: string): Promise<string> {
  const [row] = await tx
    .select({ id: organizations.id, supportAccessEnabled: organizations.supportAccessEnabled })
    .from(organizations)
    .where(or(eq(organizations.id, idOrSlug), eq(organizations.slug, idOrSlug)))
    .for('update')
  if (!row) throw notFound()
  if (!row.supportAccessEnabled)
    throw new ServiceError('CONFLICT', 'The owners of this organization have turned support access off')
  return row.id
}

/** An unverified address could be anybody's. */
async function findStaff(tx: Transaction, email: string) {
  const [user] = await tx
    .select({ id: users.id, email: users.email, name: users.name })
    .from(users)
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt)))
    .orderBy(asc(users.id))
    .limit(1)
  if (!user) throw new ServiceError('NOT_FOUND', 'No account has this address verified')
  return user
}

async function refuseSecondAccess(tx: Transaction, clock: Storage['clock'], orgId: string, userId: string) {
  const [member] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  if (member) throw new ServiceError('CONFLICT', 'This person is already a member of the organization')
  const [live] = await tx
    .select({ id: supportSessions.id })
    .from(supportSessions)
    .where(and(eq(supportSessions.orgId, orgId), eq(supportSessions.staffId, userId), isLive(clock)))
  if (live)
    throw new ServiceError('CONFLICT', 'This person already has a support session in the organization')
}
