/** A new value in the same row: its app, its scope and its end stay. */
import { and, eq } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { appTokenHash, appTokenPrefix, makeAppToken } from '../../trust/app-token.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import { recordEnding } from '../record-ending.ts'
import { endOfOverlap, rotatedEnding, rotatedOut } from '../previous-value.ts'
import { write, type Verb } from '../verb.ts'
import { liveTokensOf, presentAppToken, subjectOf } from './app-token-rows.ts'

export const rotateAppToken: Verb<'rotateAppToken', WithDirectory> = write(
  { author: 'viewer', audit: 'app.token_rotated' },
  async ({ tx, clock, member, orgId, userId, directory, audit }, { alias, token_id, overlap_hours }) => {
    const app = await requireAppWriter(directory, tx, member, alias)
    const keyEpoch = await readKeyEpoch(tx)
    const isToken = and(liveTokensOf(app, keyEpoch), eq(appTokens.id, token_id))
    const [before] = await tx.select().from(appTokens).where(isToken).for('no key update')
    if (!before) throw notFound()
    const token = makeAppToken(orgId)
    const now = clock()
    const values = {
      ...rotatedOut(before, endOfOverlap(now, overlap_hours)),
      secretHash: appTokenHash(token),
      startsWith: appTokenPrefix(token),
      keyEpoch,
    }
    const [row] = await tx
      .update(appTokens)
      .set({ ...values, rotatedBy: userId, rotatedAt: now })
      .where(isToken)
      .returning()
    recordEnding(tx, 'app_token_rotated', [rotatedEnding(before, values)])
    await audit('app.token_rotated', subjectOf(app, row!))
    return { ...presentAppToken(row!, now), token }
  },
)
