/**
 * Whose token this is, read on every call: a revoked one, or one of other secrets, is refused from the next on. The same
 * statement counts the call.
 */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { APP_TOKEN_CALLS, UNKNOWN_CREDENTIAL_SECONDS } from '../../contracts/limits.ts'
import type { AppScope } from '../../contracts/scopes.ts'
import { appTokenHash, organizationOfToken } from '../../trust/app-token.ts'
import { refusedCredentials } from '../../trust/refused-credentials.ts'
import { countSecret } from '../count-secret.ts'
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

export const validateAppToken =
  ({ db, clock, servedOrganizations }: ValidationDeps) =>
  async (token: string): Promise<ValidatedAppToken> => {
    const orgId = organizationOfToken(token)
    if (orgId === undefined || servedOrganizations?.has(orgId) === false) throw refused()
    const secretHash = appTokenHash(token)
    if (unknownSecrets.pausedSeconds(secretHash) > 0) throw refused()
    const call = countSecret(appTokens, secretHash, clock(), APP_TOKEN_CALLS)
    const isToken = and(
      eq(appTokens.orgId, orgId),
      call.isSecret,
      isNull(appTokens.revokedAt),
      isOfEpoch(appTokens.keyEpoch, await readKeyEpoch(db)),
    )
    const [row] = await db.update(appTokens).set(call.counted).where(and(isToken, call.hasRoom)).returning()
    if (row) {
      const { id, name, appId, scope } = row
      return { orgId, tokenId: id, name, app: { id: appId, scope } }
    }
    const [full] = await db.select({ until: appTokens.fullUntil }).from(appTokens).where(isToken)
    if (!full) {
      unknownSecrets.refuse(secretHash, UNKNOWN_CREDENTIAL_SECONDS, true)
      throw refused()
    }
    throw call.tooMany(full.until)
  }
