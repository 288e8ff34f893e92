/** Revokes an API token, and those that were made with it. */
import { and, eq } from '../../../db/drizzle.ts'
import { apiTokens } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { atLeast } from '../../contracts/roles.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { write, type Verb } from '../verb.ts'

export const revokeApiToken: Verb<'revokeApiToken'> = write(
  { audit: 'token.revoked' },
  async ({ tx, clock, member, orgId, userId, audit }, { token_id }) => {
    const revoked = await revokeApiTokens(
      tx,
      clock,
      and(
        eq(apiTokens.orgId, orgId),
        eq(apiTokens.id, token_id),
        // For everybody else a colleague's token does not exist.
        atLeast(member.role, 'admin') ? undefined : eq(apiTokens.userId, userId),
      ),
    )
    if (revoked.length === 0) throw notFound()
    for (const { name, startsWith } of revoked) await audit('token.revoked', `${name} (${startsWith}…)`)
    return {}
  },
)
