/** Visits while they last: seen by the whole organization, raised by the visitor, ended by the visitor or an owner. */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, isNull, lt } from '../../../db/drizzle.ts'
import { organizations, supportSessions, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type {
  elevateSupportSession,
  endSupportSession,
  listMyVisits,
  listSupportSessions,
} from '../../contracts/support.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, personOf, requireRole, type MemberCaller } from '../caller.ts'
import type { Clock, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { isLive, levelOf } from './live-visit.ts'
import { presentVisit, VISIT_COLUMNS } from './present-visit.ts'
import { tellOwners } from './visit-events.ts'

export const visitsTo =
  ({ db, clock }: Storage): Handler<typeof listSupportSessions> =>
  async (caller, { limit, cursor }) => {
    const { orgId } = asMember(caller)
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select(VISIT_COLUMNS)
      .from(supportSessions)
      .innerJoin(users, eq(users.id, supportSessions.staffId))
      .where(
        and(
          eq(supportSessions.orgId, orgId),
          before === undefined ? undefined : lt(supportSessions.id, before),
        ),
      )
      .orderBy(desc(supportSessions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ visit }) => [visit.id])
    return {
      support_sessions: page.rows.map(({ visit, staff }) => presentVisit(visit, staff, clock())),
      next_cursor: page.next_cursor,
    }
  }

export const visitsOf =
  ({ db, clock }: Storage): Handler<typeof listMyVisits> =>
  async (caller, { limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({
        visit: supportSessions,
        organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
      })
      .from(supportSessions)
      .innerJoin(organizations, eq(organizations.id, supportSessions.orgId))
      .where(
        and(
          eq(supportSessions.staffId, personOf(caller)),
          isLive(clock),
          before === undefined ? undefined : lt(supportSessions.id, before),
        ),
      )
      .orderBy(desc(supportSessions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ visit }) => [visit.id])
    return {
      visits: page.rows.map(({ visit, organization }) => ({
        id: visit.id,
        organization,
        level: levelOf(visit),
        expires_at: visit.expiresAt.toISOString(),
      })),
      next_cursor: page.next_cursor,
    }
  }

export const raiseVisit =
  ({ db, clock }: Storage): Handler<typeof elevateSupportSession> =>
  (who, { support_session_id, reason }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      // To everybody but the visitor it is nothing that could be raised.
      if (caller.supportSessionId !== support_session_id) throw notFound()
      const [raised] = await tx
        .update(supportSessions)
        .set({ elevatedAt: clock(), elevationReason: reason })
        .where(and(thatVisit(orgId, support_session_id), isLive(clock), isNull(supportSessions.elevatedAt)))
        .returning()
      if (raised) {
        const subject = `${caller.userEmail ?? caller.userId}: ${reason}`
        await recordAudit(tx, clock, caller, { orgId, action: 'support.elevated', subject })
        await tellOwners(tx, clock, raised, 'org.support_access.elevated')
      }
      const [found] = await tx
        .select(VISIT_COLUMNS)
        .from(supportSessions)
        .innerJoin(users, eq(users.id, supportSessions.staffId))
        .where(thatVisit(orgId, support_session_id))
      if (!found) throw notFound()
      return presentVisit(found.visit, found.staff, clock())
    })

export const endVisit =
  ({ db, clock }: Storage): Handler<typeof endSupportSession> =>
  (who, { support_session_id }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const [found] = await tx
        .select({ id: supportSessions.id })
        .from(supportSessions)
        .where(thatVisit(caller.orgId, support_session_id))
      if (!found) throw notFound()
      if (caller.supportSessionId !== support_session_id)
        requireRole(caller, 'owner', 'Only an owner or the visitor ends a visit')
      await endVisits(tx, clock, caller, support_session_id)
      return {}
    })

/** All that are under way: support access was switched off. */
export const endVisitsTo = (tx: Transaction, clock: Clock, caller: MemberCaller): Promise<void> =>
  endVisits(tx, clock, caller)

/** One that is over by itself stays as it was. */
async function endVisits(tx: Transaction, clock: Clock, caller: MemberCaller, id?: string): Promise<void> {
  const { orgId } = caller
  const ended = await tx
    .update(supportSessions)
    .set({ endedAt: clock(), endedBy: caller.userId })
    .where(
      and(
        eq(supportSessions.orgId, orgId),
        id === undefined ? undefined : eq(supportSessions.id, id),
        isLive(clock),
      ),
    )
    .returning({ id: supportSessions.id })
  for (const visit of ended) {
    await recordAudit(tx, clock, caller, { orgId, action: 'support.ended', subject: visit.id })
  }
}

const thatVisit = (orgId: string, id: string) =>
  and(eq(supportSessions.orgId, orgId), eq(supportSessions.id, id))
