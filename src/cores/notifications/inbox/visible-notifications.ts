/** Which of a person's notifications they may still see. */
import type { Handle } from '../../../../db/connect.ts'
import { and, eq, sql } from '../../../../db/drizzle.ts'
import { appMembers, events, notifications } from '../../../../db/schema.ts'
import type { MemberPrincipal } from '../../principal.ts'
import type { Directory } from '../../directory/index.ts'
import { readAppAccess } from '../people.ts'

/**
 * Asked again at every read: what happened to an app is for those who build, maintain or administer it today. What
 * concerns the person, such as a reply to a ticket they filed, stays theirs for good.
 */
export async function visibleTo(directory: Directory, db: Handle, principal: MemberPrincipal) {
  const { orgId, userId } = principal
  const own = and(eq(notifications.orgId, orgId), eq(notifications.userId, userId))
  const access = await readAppAccess(directory, db, principal)
  if (access === 'all') return own
  const isAppMember =
    access === 'none'
      ? sql`false`
      : sql`exists (select 1 from ${appMembers} m
          where m.org_id = e.org_id and m.app_id = e.app_id and m.user_id = ${userId}
            and m.membership_id = ${access.membershipId})`
  return and(
    own,
    sql`not exists (
      select 1 from ${events} e
      where e.org_id = ${notifications.orgId} and e.id = ${notifications.eventId}
        and e.app_id is not null and e.concerns_id is distinct from ${userId} and not ${isAppMember})`,
  )
}
