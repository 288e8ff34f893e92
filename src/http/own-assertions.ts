/**
 * With hosted auth the vendor knows nothing of this installation's assertions, so the gateway checks them itself. It
 * believes them for their 60 seconds: the MCP server of this installation validated the token a moment ago.
 */
import { ServiceError } from '../contracts/errors.ts'
import { ACTOR_ASSERTION_TYPE, type ActorAssertions } from '../trust/actor-assertion.ts'
import { jwtType } from '../trust/hs256.ts'
import type { Clock } from '../cores/needs.ts'
import type { ValidAnswer } from './authenticate.ts'

export type AssertionNeeds = {
  readonly clock: Clock
  /** Set with AUTH_MODE=hosted only. */
  readonly ownAssertions: ActorAssertions | undefined
}

/** Undefined when this is not an assertion or not ours to check. */
export async function validateAssertion(
  needs: AssertionNeeds,
  token: string,
  meant: string | undefined,
): Promise<ValidAnswer | undefined> {
  if (!needs.ownAssertions || jwtType(token) !== ACTOR_ASSERTION_TYPE) return undefined
  const actor = await needs.ownAssertions.verify(token, needs.clock())
  if (!actor?.known) throw new ServiceError('UNAUTHENTICATED')
  const { known } = actor
  // As self-hosted validation has it: another organization than the assertion's own is as unknown as none.
  const isMeant = meant === undefined || meant === actor.orgId || meant === known.orgSlug
  return {
    valid: true,
    kind: 'actor',
    user: { id: actor.userId, email: known.email, name: known.name },
    organization: isMeant ? { id: actor.orgId, name: known.orgName, slug: known.orgSlug } : null,
    role: isMeant ? known.role : null,
    scopes: [...actor.scopes],
    audiences: ['api'],
    expires_at: actor.expiresAt.toISOString(),
    token_id: actor.tokenId,
    client_id: actor.clientId,
    grant_id: actor.grantId,
  }
}
