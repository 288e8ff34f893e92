/** The live grants of the principal, or of the whole organization. */
import { and, desc, eq, ilike, lt, or } from '../../../db/drizzle.ts'
import { platformAccessGrants, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { likePattern } from '../like-pattern.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember, requireRole } from '../principal.ts'
import { listVisibleSources } from './granted-sources.ts'
import type { LivenessDeps } from './live-grant.ts'
import { isLive, isOwn } from './grant-filters.ts'
import { GRANT_COLUMNS, presentGrant } from './present-grant.ts'

export const listGrants =
  (deps: LivenessDeps): Handler<'listGrants'> =>
  async (principal, { all, client_id, search, limit, cursor, count }) => {
    const member = requireMember(principal)
    if (all) requireRole(member, 'admin', 'Only owners and admins may list everybody’s agents')
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(
      eq(platformAccessGrants.orgId, member.orgId),
      all ? undefined : isOwn(deps.db, member),
      client_id === undefined ? undefined : eq(platformAccessGrants.clientId, client_id),
      search ? isFoundBy(search) : undefined,
      isLive(deps),
    )
    const rows = await deps.db
      .select(GRANT_COLUMNS)
      .from(platformAccessGrants)
      .innerJoin(users, eq(users.id, platformAccessGrants.userId))
      .where(and(matching, before === undefined ? undefined : lt(platformAccessGrants.id, before)))
      .orderBy(desc(platformAccessGrants.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.grant.id])
    const counted = await totalOf(deps.db, { count, cursor }, page, () =>
      deps.db
        .select(ONE_ROW)
        .from(platformAccessGrants)
        .innerJoin(users, eq(users.id, platformAccessGrants.userId))
        .where(matching),
    )
    const isLimited = page.rows.some(({ grant }) => grant.sources !== null)
    const known = isLimited ? await listVisibleSources(deps.db, member) : []
    return {
      grants: page.rows.map((row) => presentGrant(row, known)),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }

/** A metadata document's host is part of its client id. */
const isFoundBy = (search: string) =>
  or(
    eq(platformAccessGrants.id, search),
    ...[
      platformAccessGrants.clientName,
      platformAccessGrants.clientId,
      platformAccessGrants.redirectHost,
      users.name,
    ].map((column) => ilike(column, likePattern(search))),
  )
