/** An app as the API returns it: with the principal's role on it and the open tickets they may see. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, isNotNull, ne, or, sql } from '../../../db/drizzle.ts'
import { appMembers, apps, tickets } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Directory } from '../directory/index.ts'
import type { App, EffectiveAppRole } from './find-app.ts'

export const presentApp = (app: App, appRole: EffectiveAppRole | null, openTickets: number) => ({
  id: app.id,
  alias: app.alias,
  name: app.name,
  my_role: appRole,
  open_tickets: openTickets,
  created_at: app.createdAt.toISOString(),
})

/** With the principal's own role on each (of their `membershipId`), and as many tickets as the list would show them. */
export const appRows = (db: Handle, principal: MemberPrincipal, membershipId: string | null) =>
  db
    .select({ app: apps, appRole: appMembers.role, openTickets: openTicketCount(db, principal) })
    .from(apps)
    .leftJoin(
      appMembers,
      and(
        eq(appMembers.orgId, apps.orgId),
        eq(appMembers.appId, apps.id),
        eq(appMembers.userId, principal.userId),
        membershipId === null ? sql`false` : eq(appMembers.membershipId, membershipId),
      ),
    )

const openTicketCount = (db: Handle, principal: MemberPrincipal) => {
  const counted = db
    .select({ count: sql<number>`count(*)::int` })
    .from(tickets)
    .where(
      and(
        eq(tickets.orgId, apps.orgId),
        eq(tickets.appId, apps.id),
        ne(tickets.status, 'done'),
        atLeast(principal.role, 'admin')
          ? undefined
          : or(isNotNull(appMembers.userId), eq(tickets.reporterId, principal.userId)),
      ),
    )
  return sql<number>`(${counted})`
}

export async function countOpenTickets(
  directory: Directory,
  db: Handle,
  principal: MemberPrincipal,
  appId: string,
): Promise<number> {
  const membershipId = (await directory.readMembership(db, principal))?.appMembershipId ?? null
  const [row] = await appRows(db, principal, membershipId).where(
    and(eq(apps.orgId, principal.orgId), eq(apps.id, appId)),
  )
  return row?.openTickets ?? 0
}
