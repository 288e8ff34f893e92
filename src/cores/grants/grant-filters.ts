/** Conditions on the rows of grants. */
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { platformAccessGrants } from '../../../db/schema.ts'
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
export const isManageable = (principal: MemberPrincipal, grantId: string) =>
  and(
    eq(platformAccessGrants.orgId, principal.orgId),
    eq(platformAccessGrants.id, grantId),
    atLeast(principal.role, 'admin') ? undefined : eq(platformAccessGrants.userId, principal.userId),
  )
