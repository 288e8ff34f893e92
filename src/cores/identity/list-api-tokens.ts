/** The live API tokens of the principal, or of the whole organization. */
import { and, desc, eq, ilike, lt } from '../../../db/drizzle.ts'
import { apiTokens, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember, requireRole } from '../principal.ts'
import { likePattern } from '../like-pattern.ts'
import { isLive, presentApiToken, type TokenDeps } from './api-token-rows.ts'

export const listApiTokens =
  (deps: Pick<TokenDeps, 'db' | 'clock' | 'keyEpoch'>): Handler<'listApiTokens'> =>
  async (principal, { all, search, limit, cursor, count }) => {
    const member = requireMember(principal)
    if (all) requireRole(member, 'admin', 'Only owners and admins may list everybody’s tokens')
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(
      eq(apiTokens.orgId, member.orgId),
      all ? undefined : eq(apiTokens.userId, member.userId),
      search ? ilike(apiTokens.name, likePattern(search)) : undefined,
      isLive(deps),
    )
    const rows = await deps.db
      .select({ token: apiTokens, userName: users.name })
      .from(apiTokens)
      .innerJoin(users, eq(users.id, apiTokens.userId))
      .where(and(matching, before === undefined ? undefined : lt(apiTokens.id, before)))
      .orderBy(desc(apiTokens.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.token.id])
    const counted = await totalOf(deps.db, { count, cursor }, page, () =>
      deps.db.select(ONE_ROW).from(apiTokens).where(matching),
    )
    return {
      tokens: page.rows.map((row) => presentApiToken(row.token, row.userName)),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
