/**
 * Whose token this is, read on every call: a revoked one, or one of other secrets, is refused from the next on. The same
 * statement counts the call.
 */
import { locally } from '../../../db/commit-locally.ts'
import { and, eq, gt, isNull, or, sql } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { APP_TOKEN_CALLS, UNKNOWN_CREDENTIAL_SECONDS } from '../../contracts/limits.ts'
import type { AppScope } from '../../contracts/scopes.ts'
import { appTokenHash, organizationOfToken } from '../../trust/app-token.ts'
import { refusedCredentials } from '../../trust/refused-credentials.ts'
import { isOfEpoch, readKeyEpoch } from '../key-epoch.ts'
import type { Storage } from '../dependencies.ts'

export type ValidatedAppToken = {
  readonly orgId: string
  readonly tokenId: string
  readonly name: string
  readonly app: { readonly id: string; readonly scope: AppScope }
}

type ValidationDeps = Storage & {
  /** With hosted auth, the ids of those that are let in. */
  readonly servedOrganizations: ReadonlySet<string> | undefined
}

const refused = () => new ServiceError('UNAUTHENTICATED')

/** A secret that opened nothing a moment ago is not looked for again. */
const unknownSecrets = refusedCredentials()

/** A leaky bucket, as in throttle.ts. */
const STEP_SECONDS = APP_TOKEN_CALLS.seconds / APP_TOKEN_CALLS.count
const CAPACITY_SECONDS = APP_TOKEN_CALLS.seconds - STEP_SECONDS

export const validateAppToken =
  ({ db, clock, servedOrganizations }: ValidationDeps) =>
  async (token: string): Promise<ValidatedAppToken> => {
    const orgId = organizationOfToken(token)
    if (orgId === undefined || servedOrganizations?.has(orgId) === false) throw refused()
    const secretHash = appTokenHash(token)
    if (unknownSecrets.pausedSeconds(secretHash) > 0) throw refused()
    const now = clock()
    const at = sql`${now.toISOString()}::timestamptz`
    const isToken = and(
      eq(appTokens.orgId, orgId),
      or(
        eq(appTokens.secretHash, secretHash),
        and(eq(appTokens.previousHash, secretHash), gt(appTokens.previousUntil, now)),
      ),
      isNull(appTokens.revokedAt),
      isOfEpoch(appTokens.keyEpoch, await readKeyEpoch(db)),
    )
    const [row] = await db
      .update(appTokens)
      .set({
        lastUsedAt: sql`case when ${appTokens.secretHash} = ${secretHash} then ${at} else ${appTokens.lastUsedAt} end`,
        previousLastUsedAt: sql`case when ${appTokens.previousHash} = ${secretHash} then ${at} else ${appTokens.previousLastUsedAt} end`,
        fullUntil: sql`greatest(${appTokens.fullUntil}, ${at}) + make_interval(secs => ${STEP_SECONDS})`,
      })
      // Full: nothing changes, so that further requests do not prolong the wait.
      .where(
        and(
          locally,
          isToken,
          sql`${appTokens.fullUntil} <= ${at} + make_interval(secs => ${CAPACITY_SECONDS})`,
        ),
      )
      .returning()
    if (row) {
      const { id, name, appId, scope } = row
      return { orgId, tokenId: id, name, app: { id: appId, scope } }
    }
    const [full] = await db.select({ until: appTokens.fullUntil }).from(appTokens).where(isToken)
    if (!full) {
      unknownSecrets.refuse(secretHash, UNKNOWN_CREDENTIAL_SECONDS, true)
      throw refused()
    }
    const waitSeconds = (full.until.getTime() - now.getTime()) / 1000 - CAPACITY_SECONDS
    throw new ServiceError('RATE_LIMITED', undefined, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
    })
  }
