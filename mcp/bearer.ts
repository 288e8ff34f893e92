/**
 * Who stands at the door. The agent's own token is read here and goes no further: what travels on is an actor assertion,
 * good for a minute and only inside the house.
 */
import type { Context } from 'hono'
import { caller, type CallAs } from '../src/client/call.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { BEARER_MAX } from '../src/contracts/limits.ts'
import { RESOURCE_SCOPES, type Resource } from '../src/contracts/scopes.ts'
import { validateToken } from '../src/contracts/tokens.ts'
import type { McpEnv, McpNeeds } from './needs.ts'
import { resourceUrl } from './resource.ts'

export type Entrant = { userId: string; orgId: string; assertion: string }

type Presented = { token: string; resource: Resource; as: CallAs }

/** From the header alone: an address ends up in logs and histories (RFC 6750, 2.3). */
export function bearerOf(c: Context<McpEnv>): string | undefined {
  const [scheme, token, ...rest] = (c.req.header('authorization') ?? '').trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && rest.length === 0 ? token : undefined
}

/** Undefined for whoever may not come in, whatever the reason. Throws when nobody can tell at the moment. */
export async function admit(needs: McpNeeds, presented: Presented): Promise<Entrant | undefined> {
  if (presented.token.length > BEARER_MAX) return undefined
  try {
    return presented.token.startsWith('svc_')
      ? await admitApiToken(needs, presented)
      : await admitAgent(needs, presented)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'UNAUTHENTICATED') return undefined
    throw error
  }
}

async function admitAgent(needs: McpNeeds, { token, resource, as }: Presented): Promise<Entrant | undefined> {
  if (needs.authMode === 'hosted') return undefined
  const now = needs.clock()
  const claims = await needs.accessTokens.verify(token, resourceUrl(needs.mcpUrl, resource), now)
  if (!claims) return undefined
  const { userId, orgId, clientId, grantId, scopes } = claims
  const assertion = await needs.actorAssertions.sign({ userId, orgId, clientId, grantId, scopes }, now)
  // A token lives for an hour, its grant may have ended a second ago: the auth service looks at the grant every time.
  const valid = await caller(needs.auth, as)(validateToken, { token: assertion })
  if (valid.user.id !== userId || valid.organization?.id !== orgId) return undefined
  return { userId, orgId, assertion }
}

async function admitApiToken(
  needs: McpNeeds,
  { token, resource, as }: Presented,
): Promise<Entrant | undefined> {
  const valid = await caller(needs.auth, as)(validateToken, { token, audience: resource })
  const { kind, user, organization, role, token_id: tokenId } = valid
  if (kind !== 'api_token' || organization === null || role === null) return undefined
  if (tokenId === undefined) {
    throw new ServiceError('UNEXPECTED', undefined, { cause: 'the auth service did not name the API token' })
  }
  const actor = {
    userId: user.id,
    orgId: organization.id,
    known: {
      email: user.email,
      name: user.name,
      orgName: organization.name,
      orgSlug: organization.slug,
      role,
    },
    // Of an unscoped token too: an assistant at this endpoint never needs what belongs to the other one.
    scopes: RESOURCE_SCOPES[resource].filter((scope) => valid.scopes?.includes(scope) ?? true),
    tokenId,
  }
  const assertion = await needs.actorAssertions.sign(actor, needs.clock())
  return { userId: actor.userId, orgId: actor.orgId, assertion }
}
