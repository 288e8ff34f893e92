/** The live grants of the principal, or of the whole organization. */
import { and, eq } from '../../../db/drizzle.ts'
import { platformAccessGrants as grants, users } from '../../../db/schema.ts'
import { requireRole } from '../principal.ts'
import { list, type Verb } from '../list.ts'
import { listVisibleSources } from './granted-sources.ts'
import type { LivenessDeps } from './live-grant.ts'
import { isLive, isOwn } from './grant-filters.ts'
import { GRANT_COLUMNS, presentGrant } from './present-grant.ts'

export const listGrants: Verb<'listGrants', LivenessDeps> = list(
  {
    rows: 'grants',
    desc: [grants.id],
    // A metadata document's host is part of its client id.
    search: [grants.clientName, grants.clientId, grants.redirectHost, users.name],
    exact: [grants.id],
  },
  async (context, { all, client_id }) => {
    const { db, member, orgId, page } = context
    if (all) requireRole(member, 'admin', 'Only owners and admins may list everybody’s agents')
    return page({
      from: () => db.select(GRANT_COLUMNS).from(grants).innerJoin(users, eq(users.id, grants.userId)),
      where: and(
        eq(grants.orgId, orgId),
        all ? undefined : isOwn(db, member),
        client_id === undefined ? undefined : eq(grants.clientId, client_id),
        isLive(context),
      ),
      key: (row) => [row.grant.id],
      present: async (rows) => {
        const isLimited = rows.some(({ grant }) => grant.sources !== null)
        const known = isLimited ? await listVisibleSources(db, member) : []
        return rows.map((row) => presentGrant(row, known))
      },
    })
  },
)
