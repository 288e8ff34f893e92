/** Tickets of all apps: every one of an app that the principal works on, elsewhere their own. */
import { and, desc, eq, ilike, isNotNull, or, sql } from '../../../db/drizzle.ts'
import { appMembers, apps, tickets } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { WithDirectory } from '../directory/index.ts'
import { likePattern } from '../like-pattern.ts'
import { read, type Verb } from '../verb.ts'
import { presentTicket } from './ticket-rows.ts'

export const searchTickets: Verb<'searchTickets', WithDirectory> = read(
  async ({ db, member, orgId, userId, directory }, { search, limit }) => {
    // As for one app: support staff have no role of their own, whatever row is left of an earlier membership.
    const isSupport = member.supportSessionId !== undefined
    const membership = isSupport ? undefined : await directory.readMembership(db, member)
    const role = isSupport ? member.role : membership?.role
    const membershipId = membership?.appMembershipId ?? null
    const rows = await db
      .select({ app: apps, ticket: tickets })
      .from(tickets)
      .innerJoin(apps, and(eq(apps.orgId, tickets.orgId), eq(apps.id, tickets.appId)))
      .leftJoin(
        appMembers,
        and(
          eq(appMembers.orgId, tickets.orgId),
          eq(appMembers.appId, tickets.appId),
          eq(appMembers.userId, userId),
          membershipId === null ? sql`false` : eq(appMembers.membershipId, membershipId),
        ),
      )
      .where(
        and(
          eq(tickets.orgId, orgId),
          or(eq(tickets.id, search), ilike(tickets.title, likePattern(search))),
          role !== undefined && atLeast(role, 'admin')
            ? undefined
            : or(isNotNull(appMembers.userId), eq(tickets.reporterId, userId)),
        ),
      )
      .orderBy(desc(tickets.id))
      .limit(limit)
    return { tickets: rows.map(({ app, ticket }) => presentTicket(app, ticket)) }
  },
)
