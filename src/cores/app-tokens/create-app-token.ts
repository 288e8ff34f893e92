import { and, count, eq } from '../../../db/drizzle.ts'
import { apps, appTokens } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { TOKENS_PER_APP } from '../../contracts/limits.ts'
import { appTokenHash, appTokenPrefix, makeAppToken } from '../../trust/app-token.ts'
import { requireAppWriter } from '../apps/index.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { liveTokensOf, presentAppToken, subjectOf } from './app-token-rows.ts'

export const createAppToken: Verb<'createAppToken', WithDirectory> = write(
  { author: 'viewer', audit: 'app.token_created' },
  async ({ tx, clock, member, orgId, userId, directory, audit }, { alias, name, scope }) => {
    const { userName } = member
    const app = await requireAppWriter(directory, tx, member, alias)
    // One at a time: a burst stays below the limit.
    await tx
      .select({ id: apps.id })
      .from(apps)
      .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
      .for('update')
    const keyEpoch = await readKeyEpoch(tx)
    const [live] = await tx.select({ count: count() }).from(appTokens).where(liveTokensOf(app, keyEpoch))
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
        keyEpoch,
        createdBy: userId,
        createdByName: userName,
        createdAt: now,
        fullUntil: now,
      })
      .returning()
    await audit('app.token_created', subjectOf(app, row!))
    return { ...presentAppToken(row!, now), token }
  },
)
