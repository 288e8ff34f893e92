/**
 * Whose SCIM bearer this is, read on every call: a revoked one, or one of other secrets, is refused from the next on. The
 * same statement counts the call.
 */
import { locally } from '../../../db/commit-locally.ts'
import { and, eq, gt, or, sql } from '../../../db/drizzle.ts'
import { scimBearers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { BEARER_MAX, SCIM_CALLS, UNKNOWN_CREDENTIAL_SECONDS } from '../../contracts/limits.ts'
import { refusedCredentials } from '../../trust/refused-credentials.ts'
import { isScimBearer, scimBearerHash } from '../../trust/scim-bearer.ts'
import type { Storage } from '../dependencies.ts'
import { bearerName, liveBearer } from './bearer-rows.ts'
import type { ScimPrincipal } from './dependencies.ts'

const refused = () => new ServiceError('UNAUTHENTICATED', 'Invalid or expired SCIM bearer')

/** A secret that opened nothing a moment ago is not looked for again. */
const unknownSecrets = refusedCredentials()

/** A leaky bucket, as in throttle.ts. */
const STEP_SECONDS = SCIM_CALLS.seconds / SCIM_CALLS.count
const CAPACITY_SECONDS = SCIM_CALLS.seconds - STEP_SECONDS

export const validateScimBearer =
  ({ db, clock }: Storage) =>
  async (
    token: string | undefined,
    from: { readonly requestId: string; readonly address: string },
  ): Promise<ScimPrincipal> => {
    if (token === undefined || token.length > BEARER_MAX || !isScimBearer(token)) throw refused()
    const secretHash = scimBearerHash(token)
    if (unknownSecrets.pausedSeconds(secretHash) > 0) throw refused()
    const now = clock()
    const at = sql`${now.toISOString()}::timestamptz`
    const isBearer = and(
      or(
        eq(scimBearers.secretHash, secretHash),
        and(eq(scimBearers.previousHash, secretHash), gt(scimBearers.previousUntil, now)),
      ),
      await liveBearer(db),
    )
    const [row] = await db
      .update(scimBearers)
      .set({
        lastUsedAt: sql`case when ${scimBearers.secretHash} = ${secretHash} then ${at} else ${scimBearers.lastUsedAt} end`,
        previousLastUsedAt: sql`case when ${scimBearers.previousHash} = ${secretHash} then ${at} else ${scimBearers.previousLastUsedAt} end`,
        fullUntil: sql`greatest(${scimBearers.fullUntil}, ${at}) + make_interval(secs => ${STEP_SECONDS})`,
      })
      // Full: nothing changes, so that further requests do not prolong the wait.
      .where(
        and(
          locally,
          isBearer,
          sql`${scimBearers.fullUntil} <= ${at} + make_interval(secs => ${CAPACITY_SECONDS})`,
        ),
      )
      .returning()
    if (row) {
      const { id, orgId, issuer } = row
      return { ...NOBODY, ...from, userName: bearerName(row), orgId, tokenId: id, issuer }
    }
    const [full] = await db.select({ until: scimBearers.fullUntil }).from(scimBearers).where(isBearer)
    if (!full) {
      unknownSecrets.refuse(secretHash, UNKNOWN_CREDENTIAL_SECONDS, true)
      throw refused()
    }
    const waitSeconds = (full.until.getTime() - now.getTime()) / 1000 - CAPACITY_SECONDS
    throw new ServiceError('RATE_LIMITED', undefined, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
    })
  }

const NOBODY = {
  kind: 'scim_bearer',
  userId: null,
  userEmail: null,
  organization: null,
  role: null,
  carriesAppRoles: false,
  scopes: [],
  audiences: [],
  sources: null,
  expiresAt: null,
  entryPoint: 'api',
} as const
