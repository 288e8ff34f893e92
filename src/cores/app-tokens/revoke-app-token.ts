import { and, eq } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { withTransaction } from '../transaction.ts'
import { liveTokensOf, subjectOf } from './app-token-rows.ts'

export const revokeAppToken =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'revokeAppToken'> =>
  (principal, { alias, token_id }) =>
    withTransaction(db, async (tx) => {
      const app = await requireAppWriter(directory, tx, principal, alias)
      const [revoked] = await tx
        .update(appTokens)
        .set({ revokedAt: clock() })
        .where(and(liveTokensOf(app), eq(appTokens.id, token_id)))
        .returning()
      if (!revoked) throw notFound()
      await recordAudit(tx, clock, principal, {
        orgId: app.orgId,
        action: 'app.token_revoked',
        subject: subjectOf(app, revoked),
      })
      return {}
    })
