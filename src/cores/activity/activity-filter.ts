/** Which rows of activity a principal asks for, of those they may see. */
import { and, eq, gte, lt } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { atLeast } from '../../contracts/roles.ts'
import { findSource, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import type { MemberPrincipal } from '../principal.ts'

type Filters = {
  type: 'function' | 'data_source'
  source?: string | undefined
  user_id?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

export async function activityFilter(
  { db }: Storage,
  principal: MemberPrincipal,
  { type, source, user_id, from, to }: Filters,
) {
  const seesAll = atLeast(principal.role, 'admin')
  if (user_id !== undefined && user_id !== principal.userId && !seesAll) {
    throw new ServiceError('FORBIDDEN', 'Only owners and admins may see the activity of others')
  }
  const userId = user_id ?? (seesAll ? undefined : principal.userId)
  return and(
    eq(activity.orgId, principal.orgId),
    eq(activity.type, type),
    userId === undefined ? undefined : eq(activity.userId, userId),
    source === undefined ? undefined : eq(activity.name, await nameOf(db, principal.orgId, source)),
    from === undefined ? undefined : gte(activity.at, new Date(from)),
    to === undefined ? undefined : lt(activity.at, new Date(to)),
  )
}

/** By name, which the rows keep: the activity of a removed database can still be found. No row has an empty one. */
async function nameOf(db: Storage['db'], orgId: string, source: string): Promise<string> {
  if (source.startsWith('db_')) return source
  const row = await findSource(db, orgId, source)
  return row ? sourceIdOf(row.name) : ''
}
