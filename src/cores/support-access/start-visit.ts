/** The operator lets a member of the support staff into an organization, if its owners have not closed it to them. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq, isNotNull, or } from '../../../db/drizzle.ts'
import { memberships, organizations, supportSessions, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { startSupportSession } from '../../contracts/support.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { isLive } from './live-visit.ts'
import { presentVisit } from './present-visit.ts'
import { tellOwners } from './visit-events.ts'

export const letIn =
  ({ db, clock }: Storage): Handler<typeof startSupportSession> =>
  (caller, { org, staff_email, reason, minutes }) =>
    withTransaction(db, async (tx) => {
      const orgId = await openOrganization(tx, org)
      const staff = await staffWith(tx, staff_email)
      await refuseWhoIsIn(tx, clock, orgId, staff.id)
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
      const by = { ...caller, orgId, supportSessionId: row!.id }
      const subject = `${staff.email}: ${reason}`
      await recordAudit(tx, clock, by, { orgId, action: 'support.started', subject })
      await tellOwners(tx, clock, row!, 'org.support_access.started')
      return { ...presentVisit(row!, staff, now), org_id: orgId }
    })

/** Locked: a switch that is turned off at this moment either comes first, or finds this visit and ends it. */
async function openOrganization(tx: Transaction, idOrSlug: string): Promise<string> {
  const [row] = await tx
    .select({ id: organizations.id, isOpen: organizations.supportAccessEnabled })
    .from(organizations)
    .where(or(eq(organizations.id, idOrSlug), eq(organizations.slug, idOrSlug)))
    .for('update')
  if (!row) throw notFound()
  if (!row.isOpen)
    throw new ServiceError('CONFLICT', 'The owners of this organization closed it to support staff')
  return row.id
}

/** An unverified address could be anybody's. */
async function staffWith(tx: Transaction, email: string) {
  const [user] = await tx
    .select({ id: users.id, email: users.email, name: users.name })
    .from(users)
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt)))
    .orderBy(asc(users.id))
    .limit(1)
  if (!user) throw new ServiceError('NOT_FOUND', 'No account has this address verified')
  return user
}

async function refuseWhoIsIn(tx: Transaction, clock: Storage['clock'], orgId: string, userId: string) {
  const [member] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  if (member) throw new ServiceError('CONFLICT', 'This person is a member of the organization already')
  const [present] = await tx
    .select({ id: supportSessions.id })
    .from(supportSessions)
    .where(and(eq(supportSessions.orgId, orgId), eq(supportSessions.staffId, userId), isLive(clock)))
  if (present) throw new ServiceError('CONFLICT', 'This person is visiting the organization already')
}
