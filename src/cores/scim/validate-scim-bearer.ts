/**
 * Whose SCIM bearer this is, read on every call: a revoked one, or one of other secrets, is refused from the next on. The
 * same statement counts the call.
 */
import { and } from '../../../db/drizzle.ts'
import { scimBearers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { BEARER_MAX, SCIM_CALLS, UNKNOWN_CREDENTIAL_SECONDS } from '../../contracts/limits.ts'
import { refusedCredentials } from '../../trust/refused-credentials.ts'
import { isScimBearer, scimBearerHash } from '../../trust/scim-bearer.ts'
import { countSecret } from '../count-secret.ts'
import type { Storage } from '../dependencies.ts'
import { bearerName, liveBearer } from './bearer-rows.ts'
import type { ScimPrincipal } from './dependencies.ts'

const refused = () => new ServiceError('UNAUTHENTICATED', 'Invalid or expired SCIM bearer')

/** A secret that opened nothing a moment ago is not looked for again. */
const unknownSecrets = refusedCredentials()

export const validateScimBearer =
  ({ db, clock }: Storage) =>
  async (
    token: string | undefined,
    from: { readonly requestId: string; readonly address: string },
  ): Promise<ScimPrincipal> => {
    if (token === undefined || token.length > BEARER_MAX || !isScimBearer(token)) throw refused()
    const secretHash = scimBearerHash(token)
    if (unknownSecrets.pausedSeconds(secretHash) > 0) throw refused()
    const call = countSecret(scimBearers, secretHash, clock(), SCIM_CALLS)
    const isBearer = and(call.isSecret, await liveBearer(db))
    const [row] = await db
      .update(scimBearers)
      .set(call.counted)
      .where(and(isBearer, call.hasRoom))
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
    throw call.tooMany(full.until)
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
