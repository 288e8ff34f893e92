import { and, count, eq } from '../../../db/drizzle.ts'
import { apps, appTokens } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { TOKENS_PER_APP } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { appTokenHash, appTokenPrefix, makeAppToken } from '../../trust/app-token.ts'
import { requireAppWriter } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { liveTokensOf, presentAppToken, subjectOf } from './app-token-rows.ts'

export const createAppToken =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'createAppToken'> =>
  (principal, { alias, name, scope }) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'viewer')
      const { orgId, userId, userName } = member
      const app = await requireAppWriter(directory, tx, member, alias)
      // One at a time: a burst stays below the limit.
      await tx
        .select({ id: apps.id })
        .from(apps)
        .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
        .for('update')
      const [live] = await tx.select({ count: count() }).from(appTokens).where(liveTokensOf(app))
      if (live!.count >= TOKENS_PER_APP) {
        throw new ServiceError('CONFLICT', `The app already has ${TOKENS_PER_APP} tokens. Revoke one first.`)
      }
      const token = makeAppToken(orgId)
      const now = clock()
      const [row] = await tx
        .insert(appTokens)
        .values({
          orgId,
          id: makeId('apt', now.getTime()),
          appId: app.id,
          name,
          scope,
          secretHash: appTokenHash(token),
          startsWith: appTokenPrefix(token),
          createdBy: userId,
          createdByName: userName,
          createdAt: now,
          fullUntil: now,
        })
        .returning()
      await recordAudit(tx, clock, member, {
        orgId,
        action: 'app.token_created',
        subject: subjectOf(app, row!),
      })
      return { ...presentAppToken(row!), token }
    })
