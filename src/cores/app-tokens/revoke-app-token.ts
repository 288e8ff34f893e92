import { and, eq } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { requireAppWriter } from '../apps/index.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { liveTokensOf, subjectOf } from './app-token-rows.ts'

export const revokeAppToken: Verb<'revokeAppToken', WithDirectory> = write(
  { by: 'principal', audit: 'app.token_revoked' },
  async ({ tx, clock, principal, directory, audit }, { alias, token_id }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const keyEpoch = await readKeyEpoch(tx)
    const [revoked] = await tx
      .update(appTokens)
      .set({ revokedAt: clock() })
      .where(and(liveTokensOf(app, keyEpoch), eq(appTokens.id, token_id)))
      .returning()
    if (!revoked) throw notFound()
    recordEnding(tx, 'app_token', [revoked])
    await audit('app.token_revoked', subjectOf(app, revoked))
    return {}
  },
)
