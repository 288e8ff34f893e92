/** Conditions on the rows of grants. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, gt, inArray, isNull, or } from '../../../db/drizzle.ts'
import { machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { LivenessDeps } from './live-grant.ts'

export const isLive = ({ clock, keyEpoch }: LivenessDeps) =>
  and(
    isNull(platformAccessGrants.revokedAt),
    gt(platformAccessGrants.expiresAt, clock()),
    eq(platformAccessGrants.keyEpoch, keyEpoch),
  )

/** One's own, or as owner or admin anybody's. For everybody else a colleague's grant does not exist. */
export const isManageable = (db: Handle, principal: MemberPrincipal, grantId: string) =>
  and(
    eq(platformAccessGrants.orgId, principal.orgId),
    eq(platformAccessGrants.id, grantId),
    atLeast(principal.role, 'admin') ? undefined : isOwn(db, principal),
  )

/** Also those of machine agents that one answers for. */
export const isOwn = (db: Handle, { orgId, userId }: MemberPrincipal) =>
  or(
    eq(platformAccessGrants.userId, userId),
    inArray(
      platformAccessGrants.machineAgentId,
      db
        .select({ id: machineAgents.id })
        .from(machineAgents)
        .where(and(eq(machineAgents.orgId, orgId), eq(machineAgents.ownerId, userId))),
    ),
  )
