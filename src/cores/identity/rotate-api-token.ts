/** A new value in the same row: what it may do, what was made with it, its expiry and its end stay. */
import { and, eq } from '../../../db/drizzle.ts'
import { apiTokens } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { apiTokenHash, makeApiToken, tokenPrefix } from '../../trust/api-token.ts'
import { isMadeWith } from '../api-tokens/index.ts'
import { recordEnding } from '../record-ending.ts'
import { endOfOverlap, refuseOutliving, rotatedEnding, rotatedOut } from '../previous-value.ts'
import { write, type Verb } from '../verb.ts'
import { isLive, presentApiToken, type TokenDeps } from './api-token-rows.ts'

export const rotateApiToken: Verb<'rotateApiToken', TokenDeps> = write(
  { author: 'viewer', audit: 'token.rotated' },
  async (context, { token_id, overlap_hours }) => {
    const { tx, clock, member, orgId, userId, audit } = context
    // An admin may revoke a colleague's, but with its value they would be that colleague.
    const isOwn = and(eq(apiTokens.orgId, orgId), eq(apiTokens.id, token_id), eq(apiTokens.userId, userId))
    const [before] = await tx
      .select()
      .from(apiTokens)
      .where(and(isOwn, isLive(context)))
      .for('no key update')
    if (!before) throw notFound()
    if (member.tokenId !== undefined && !(await isMadeWith(tx, orgId, before.parentId, member.tokenId)))
      throw new ServiceError('FORBIDDEN', 'A token rotates only tokens that were created with it', {
        hint: 'Rotate it in the console.',
      })
    refuseOutliving(member, before.expiresAt)
    const token = makeApiToken()
    const now = clock()
    const values = {
      ...rotatedOut(before, endOfOverlap(now, overlap_hours)),
      secretHash: apiTokenHash(context, token),
      startsWith: tokenPrefix(token),
      keyEpoch: context.keyEpoch,
    }
    const [row] = await tx
      .update(apiTokens)
      .set({ ...values, rotatedAt: now })
      .where(isOwn)
      .returning()
    recordEnding(tx, 'api_token_rotated', [rotatedEnding(before, values)])
    await audit('token.rotated', `${row!.name} (${row!.startsWith}…)`)
    return { ...presentApiToken(row!, member.userName, now), token }
  },
)
