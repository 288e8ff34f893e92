/** The JWTs of a signed-in user, and of a login of the client: only a session, and the generation of its token. */
import * as z from 'zod'
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { hs256 } from './hs256.ts'

export type UserClaims = { userId: string; sessionId: string; generation: number }
export type UserTokens = ReturnType<typeof userTokens>

export const USER_TOKEN_TYPE = CREDENTIAL_KINDS.session.type

const Claims = z.object({ sub: z.string(), sid: z.string(), gen: z.int(), iat: z.number(), exp: z.number() })

export const CLI_TOKEN_TYPE = CREDENTIAL_KINDS.cli_session.type

/** One type each, so that neither is taken for the other. */
export const cliTokens = (key: Uint8Array, issuer: string) => ({
  access: userTokens(key, issuer, CLI_TOKEN_TYPE),
  refresh: userTokens(key, issuer, 'svc-cli-refresh+jwt'),
})
export type CliTokens = ReturnType<typeof cliTokens>

export function userTokens(key: Uint8Array, issuer: string, typ: string = USER_TOKEN_TYPE) {
  const jwt = hs256(key, { typ, issuer, audience: 'svc' })
  return {
    sign: (claims: UserClaims, issuedAt: Date, expiresAt: Date): Promise<string> =>
      jwt.sign({ sub: claims.userId, sid: claims.sessionId, gen: claims.generation }, issuedAt, expiresAt),
    async verify(
      token: string,
      now: Date,
    ): Promise<(UserClaims & { issuedAt: Date; expiresAt: Date }) | undefined> {
      const claims = Claims.safeParse(await jwt.verify(token, now))
      if (!claims.success) return undefined
      const { sub, sid, gen, iat, exp } = claims.data
      const [issuedAt, expiresAt] = [new Date(iat * 1000), new Date(exp * 1000)]
      return { userId: sub, sessionId: sid, generation: gen, issuedAt, expiresAt }
    },
  }
}
