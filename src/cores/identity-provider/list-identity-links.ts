/** Who the subjects of the identity provider are, newest first. */
import { and, desc, eq, ilike, lt, or } from '../../../db/drizzle.ts'
import { identityLinks, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import { likePattern } from '../like-pattern.ts'
import { requireMember } from '../principal.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { LINK_COLUMNS, presentLink } from './identity-links.ts'
import { findProvider } from './provider-rows.ts'

export const listIdentityLinks =
  ({ db }: Pick<Storage, 'db'>): Handler<'listIdentityLinks'> =>
  async (principal, { search, limit, cursor, count }) => {
    const { orgId } = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const { id } = await findProvider(db, orgId)
    const matching = and(
      eq(identityLinks.providerId, id),
      search
        ? or(
            ...[identityLinks.subject, users.name, users.email].map((column) =>
              ilike(column, likePattern(search)),
            ),
          )
        : undefined,
    )
    const rows = await db
      .select(LINK_COLUMNS)
      .from(identityLinks)
      .innerJoin(users, eq(users.id, identityLinks.userId))
      .where(and(matching, before === undefined ? undefined : lt(identityLinks.id, before)))
      .orderBy(desc(identityLinks.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ link }) => [link.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db
        .select(ONE_ROW)
        .from(identityLinks)
        .innerJoin(users, eq(users.id, identityLinks.userId))
        .where(matching),
    )
    return { links: page.rows.map(presentLink), next_cursor: page.next_cursor, ...counted }
  }
