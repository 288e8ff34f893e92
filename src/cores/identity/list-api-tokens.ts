/** The live API tokens of the principal, or of the whole organization. */
import { and, eq } from '../../../db/drizzle.ts'
import { apiTokens, users } from '../../../db/schema.ts'
import { requireRole } from '../principal.ts'
import { list, type Verb } from '../list.ts'
import { isLive, presentApiToken, type TokenDeps } from './api-token-rows.ts'

export const listApiTokens: Verb<'listApiTokens', Pick<TokenDeps, 'db' | 'clock' | 'keyEpoch'>> = list(
  { rows: 'tokens', desc: [apiTokens.id], search: [apiTokens.name] },
  async (context, { all }) => {
    const { db, clock, member, orgId, userId, page } = context
    if (all) requireRole(member, 'admin', 'Only owners and admins may list everybody’s tokens')
    return page({
      from: () =>
        db
          .select({ token: apiTokens, userName: users.name })
          .from(apiTokens)
          .innerJoin(users, eq(users.id, apiTokens.userId)),
      where: and(eq(apiTokens.orgId, orgId), all ? undefined : eq(apiTokens.userId, userId), isLive(context)),
      key: (row) => [row.token.id],
      present: (rows) => rows.map((row) => presentApiToken(row.token, row.userName, clock())),
    })
  },
)
