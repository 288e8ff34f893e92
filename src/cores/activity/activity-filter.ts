/** Which rows of activity a principal asks for, of those they may see. */
import { and, eq, gte, lt } from '../../../db/drizzle.ts'
import { activity, platformAccessGrants } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import { atLeast } from '../../contracts/roles.ts'
import { findSource, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { isManageableGrant } from '../grants/index.ts'
import type { MemberPrincipal } from '../principal.ts'

type Filters = {
  type: 'function' | 'data_source' | 'all'
  source?: string | undefined
  user_id?: string | undefined
  grant_id?: string | undefined
  entry_point?: 'mcp' | 'cli' | 'api' | undefined
  from?: string | undefined
  to?: string | undefined
}

export async function activityFilter(
  { db }: Storage,
  principal: MemberPrincipal,
  { type, source, user_id, grant_id, entry_point, from, to }: Filters,
) {
  const seesAll = atLeast(principal.role, 'admin')
  if (user_id !== undefined && user_id !== principal.userId && !seesAll) {
    throw new ServiceError('FORBIDDEN', 'Only owners and admins may see the activity of others')
  }
  const ofGrant =
    user_id === undefined && grant_id !== undefined ? await userOfGrant(db, principal, grant_id) : undefined
  const userId = user_id ?? ofGrant ?? (seesAll ? undefined : principal.userId)
  return and(
    eq(activity.orgId, principal.orgId),
    type === 'all' ? undefined : eq(activity.type, type),
    userId === undefined ? undefined : eq(activity.userId, userId),
    source === undefined ? undefined : eq(activity.name, await nameOf(db, principal.orgId, source)),
    grant_id === undefined ? undefined : eq(activity.grantId, grant_id),
    entry_point === undefined ? undefined : eq(activity.entryPoint, entry_point),
    // An id begins with the time of its row: every index of the table then reads the period, and not all rows.
    from === undefined ? undefined : gte(activity.id, firstIdOf('act', Date.parse(from))),
    to === undefined ? undefined : lt(activity.id, firstIdOf('act', Date.parse(to))),
  )
}

/**
 * All calls of a grant are its user's, by whom there is an index; of a machine agent, whoever answers for it sees them.
 * Undefined: the grant is not known here, or not theirs to see.
 */
async function userOfGrant(
  db: Storage['db'],
  principal: MemberPrincipal,
  grantId: string,
): Promise<string | undefined> {
  const [grant] = await db
    .select({ userId: platformAccessGrants.userId })
    .from(platformAccessGrants)
    .where(isManageableGrant(db, principal, grantId))
  return grant?.userId
}

/** By name, which the rows keep: the activity of a removed database can still be found. No row has an empty one. */
async function nameOf(db: Storage['db'], orgId: string, source: string): Promise<string> {
  if (source.startsWith('db_')) return source
  const row = await findSource(db, orgId, source)
  return row ? sourceIdOf(row.name) : ''
}
