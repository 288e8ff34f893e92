/**
 * A refresh token whose row the database has lost with its tail: it goes on, once for each family and tail. What an attacker
 * could do with that stands in docs/connector-security.md.
 */
import { and, eq, isNull } from '../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../db/schema.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import { endGrant } from '../../src/cores/grants/index.ts'
import { lostTailOf } from '../../src/cores/timeline.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { keyedHash } from '../../src/trust/keyed-hash.ts'
import { readRefreshToken } from '../../src/trust/refresh-token.ts'
import type { ConnectorDeps } from './dependencies.ts'

type Row = typeof oauthArtifacts.$inferSelect

const KIND = 'RefreshToken'

/** Its row, as the database had it. Undefined: it is like one that never was. */
export async function recoverLostRefresh(
  deps: ConnectorDeps,
  value: string,
  id: string,
): Promise<Row | undefined> {
  const { db, clock } = deps
  const facts = readRefreshToken(deps.keyFor('refresh-token'), value)
  if (!facts) return undefined
  const { grantId, issuedAt } = facts
  const expiresAt = new Date(issuedAt.getTime() + CONNECTOR_SECONDS.refreshToken * 1000)
  if (expiresAt <= clock()) return undefined
  const tail = await lostTailOf(db, issuedAt)
  if (!tail) return undefined
  return withTransaction(db, async (tx) => {
    // Two at once take turns. What ended has no family, and after a lost ending the journal has ended it again.
    const [grant] = await tx
      .select({ id: platformAccessGrants.id })
      .from(platformAccessGrants)
      .where(and(eq(platformAccessGrants.id, grantId), isNull(platformAccessGrants.revokedAt)))
      .for('update')
    const family = await tx
      .select()
      .from(oauthArtifacts)
      .where(and(eq(oauthArtifacts.grantId, grantId), eq(oauthArtifacts.kind, KIND)))
    const known = family.find((row) => row.id === id)
    const last = family.toSorted((a, b) => rotationsOf(a) - rotationsOf(b)).at(-1)
    if (!grant || known || !last) return known
    const marker = {
      id: keyedHash(deps.keyFor('oauth-artifact'), `LostRefresh:${grantId}:${tail.until}`),
      kind: 'LostRefresh',
      payload: {},
      grantId,
      expiresAt,
    }
    const [isFirst] = await tx.insert(oauthArtifacts).values(marker).onConflictDoNothing().returning()
    // Since the tail was lost somebody has gone on with an older one, or with another lost one: two hold this family.
    const hasGoneOn = family.some(
      ({ consumedAt }) => consumedAt !== null && consumedAt.getTime() > tail.until,
    )
    if (!isFirst || hasGoneOn) {
      const by = { kind: 'anonymous' as const, userId: null, userName: 'an agent', requestId: 'token' }
      await endGrant(tx, clock, by, grantId, 'reuse_detected')
      return undefined
    }
    // Without a grace: they were spent when this one was issued, and their answer is this one.
    const spentAt = Math.min(issuedAt.getTime(), clock().getTime() - deps.refreshGraceSeconds * 1000)
    await tx
      .update(oauthArtifacts)
      .set({ consumedAt: new Date(spentAt) })
      .where(
        and(
          eq(oauthArtifacts.grantId, grantId),
          eq(oauthArtifacts.kind, KIND),
          isNull(oauthArtifacts.consumedAt),
        ),
      )
    const payload = { ...last.payload, rotations: rotationsOf(last) + 1 }
    const [row] = await tx
      .insert(oauthArtifacts)
      .values({ id, kind: KIND, payload, grantId, expiresAt })
      .returning()
    deps.log.info('a refresh token went on whose row was lost with the database', { grant: grantId })
    return row
  })
}

const rotationsOf = ({ payload }: Row): number =>
  typeof payload['rotations'] === 'number' ? payload['rotations'] : 0
