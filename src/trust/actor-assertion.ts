/**
 * What the MCP server sends to the gateway instead of the agent's token: who acts, in which organization, through which
 * client, for 60 seconds. Signed with ACTOR_ASSERTION_SECRET, which no agent and no browser ever has.
 */
import * as z from 'zod'
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { ScopeName } from '../contracts/fields.ts'
import { ACTOR_ASSERTION_SECONDS } from '../contracts/limits.ts'
import { RoleName } from '../contracts/roles.ts'
import type { Scope } from '../contracts/scopes.ts'
import { ValidatedToken } from '../contracts/tokens.ts'
import { hs256 } from './hs256.ts'

const Known = z.object({
  email: z.string(),
  name: z.string(),
  orgName: z.string(),
  orgSlug: z.string(),
  role: RoleName,
  membership: ValidatedToken.shape.membership,
  carriesAppRoles: ValidatedToken.shape.carries_app_roles,
})

export type Actor = {
  userId: string
  orgId: string
  /** As they were when it was signed, for hosted auth; self-hosted validation reads everything anew. */
  known?: z.output<typeof Known> | undefined
  scopes: readonly Scope[]
  /** The API token or the grant of the agent; exactly one is set. */
  tokenId?: string | undefined
  grantId?: string | undefined
  clientId?: string | undefined
}

export type ActorAssertions = ReturnType<typeof actorAssertions>

export const ACTOR_ASSERTION_TYPE = CREDENTIAL_KINDS.assertion.type

const Claims = z
  .object({
    sub: z.string(),
    org: z.string(),
    known: Known.optional(),
    scopes: z.array(ScopeName),
    tid: z.string().optional(),
    gid: z.string().optional(),
    cid: z.string().optional(),
    iat: z.number(),
    exp: z.number(),
  })
  // A longer lifetime was not signed by our own code.
  .refine((claims) => claims.exp - claims.iat <= ACTOR_ASSERTION_SECONDS)
  .refine(isOne)

/** Of one credential. */
function isOne({ tid, gid }: { tid?: string | undefined; gid?: string | undefined }): boolean {
  return (tid === undefined) !== (gid === undefined)
}

/**
 * Most are verified at once, in the process that signed them: what this very key has signed needs no second look. More are
 * never under way between a signature and its verification.
 */
const OWN_MAX = 256

function remember<Value>(values: Map<string, Value>, key: string, value: Value): void {
  const [oldest] = values.size >= OWN_MAX ? values.keys() : []
  if (oldest !== undefined) values.delete(oldest)
  values.set(key, value)
}

export function actorAssertions(secretHex: string, issuer: string) {
  const key = new Uint8Array(Buffer.from(secretHex, 'hex'))
  const jwt = hs256(key, { typ: ACTOR_ASSERTION_TYPE, issuer, audience: 'svc-gateway' })
  const ownClaims = new Map<string, z.output<typeof Claims>>()

  return {
    async sign(actor: Actor, now: Date): Promise<string> {
      const claims = {
        sub: actor.userId,
        org: actor.orgId,
        ...(actor.known === undefined ? {} : { known: structuredClone(actor.known) }),
        scopes: [...actor.scopes],
        ...(actor.tokenId === undefined ? {} : { tid: actor.tokenId }),
        ...(actor.grantId === undefined ? {} : { gid: actor.grantId }),
        ...(actor.clientId === undefined ? {} : { cid: actor.clientId }),
      }
      const token = await jwt.sign(claims, now, new Date(now.getTime() + ACTOR_ASSERTION_SECONDS * 1000))
      const iat = Math.floor(now.getTime() / 1000)
      if (isOne(claims)) remember(ownClaims, token, { ...claims, iat, exp: iat + ACTOR_ASSERTION_SECONDS })
      return token
    },
    async verify(token: string, now: Date): Promise<(Actor & { expiresAt: Date }) | undefined> {
      const own = ownClaims.get(token)
      const claims =
        own && own.exp * 1000 > now.getTime() ? own : Claims.safeParse(await jwt.verify(token, now)).data
      if (!claims) return undefined
      const { sub, org, known, scopes, tid, gid, cid, exp } = claims
      return {
        userId: sub,
        orgId: org,
        known: known && structuredClone(known),
        scopes: [...scopes],
        tokenId: tid,
        grantId: gid,
        clientId: cid,
        expiresAt: new Date(exp * 1000),
      }
    },
  }
}
