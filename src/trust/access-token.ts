/**
 * The agents' access tokens, as the MCP server reads them: signed with JWT_SECRET alone, because that is the one
 * secret it shares with the auth service. Good for exactly one resource.
 */
import * as z from 'zod'
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { ScopeName } from '../contracts/fields.ts'
import type { Scope } from '../contracts/scopes.ts'
import { hs256 } from './hs256.ts'

export type AgentClaims = {
  userId: string
  orgId: string
  clientId: string
  grantId: string
  scopes: Scope[]
  expiresAt: Date
}

export type AccessTokens = ReturnType<typeof accessTokens>

/** RFC 9068. */
export const ACCESS_TOKEN_TYPE = CREDENTIAL_KINDS.grant.type

const Claims = z.object({
  sub: z.string(),
  client_id: z.string(),
  grant_id: z.string(),
  org_id: z.string(),
  scope: z.string(),
  exp: z.number(),
})

export const accessTokens = (jwtSecretHex: string, issuer: string) => {
  const key = new Uint8Array(Buffer.from(jwtSecretHex, 'hex'))
  const verifiers = new Map<string, ReturnType<typeof hs256>>()
  const verifierFor = (audience: string) => {
    const verifier = verifiers.get(audience) ?? hs256(key, { typ: ACCESS_TOKEN_TYPE, issuer, audience })
    verifiers.set(audience, verifier)
    return verifier
  }
  return {
    async verify(token: string, audience: string, now: Date): Promise<AgentClaims | undefined> {
      const claims = Claims.safeParse(await verifierFor(audience).verify(token, now))
      if (!claims.success) return undefined
      const { sub, client_id, grant_id, org_id, scope, exp } = claims.data
      return {
        userId: sub,
        orgId: org_id,
        clientId: client_id,
        grantId: grant_id,
        scopes: scope.split(' ').filter((name) => ScopeName.safeParse(name).success) as Scope[],
        expiresAt: new Date(exp * 1000),
      }
    },
  }
}
