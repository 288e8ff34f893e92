/** For whom an agent acts: the credential behind its assertion, an API token or a grant, is read again on every call. */
import type { Actor } from '../../trust/actor-assertion.ts'
import { countGrantCall, findLiveGrant, grantedScopes, touchGrant } from '../grants/index.ts'
import { scopesOf } from './api-token-rows.ts'
import { liveTokenById } from './validate-api-token.ts'
import { matchOrganization, refused, type Presented, type ValidationDeps } from './validation.ts'

/** The credential may have ended in the 60 seconds that the assertion is good for. */
export async function validateActor(deps: ValidationDeps, { token, organization, audience }: Presented) {
  const actor = await deps.actorAssertions?.verify(token, deps.clock())
  if (!actor) throw refused()
  if (actor.grantId !== undefined)
    return validateGrant(deps, actor, actor.grantId, { organization, audience })
  if (actor.tokenId === undefined || (audience ?? 'api') !== 'api') throw refused()
  const found = await liveTokenById(deps, { orgId: actor.orgId, tokenId: actor.tokenId })
  if (found.user.id !== actor.userId || !found.agentsEnabled) throw refused()
  return {
    valid: true as const,
    kind: 'actor' as const,
    user: found.user,
    ...matchOrganization(found, organization),
    carries_app_roles: found.row.carriesAppRoles,
    // An assertion never opens more than its token does.
    scopes: actor.scopes.filter((scope) => scopesOf(found.row)?.includes(scope) ?? true),
    audiences: ['api' as const],
    expires_at: actor.expiresAt.toISOString(),
    token_id: found.row.id,
    client_id: actor.clientId,
  }
}

async function validateGrant(
  deps: ValidationDeps,
  actor: Actor & { expiresAt: Date },
  grantId: string,
  { organization, audience = 'api' }: Pick<Presented, 'organization' | 'audience'>,
) {
  // The MCP server names its endpoint, once for every call; for what is called behind it, the gateway names the API.
  const isCall = audience !== 'api'
  const found = await (isCall ? countGrantCall : findLiveGrant)(deps, grantId)
  if (!found || found.user.id !== actor.userId || found.organization.id !== actor.orgId) throw refused()
  if (isCall && found.grant.resource !== audience) throw refused()
  await touchGrant(deps, found.grant)
  const granted = grantedScopes(found.grant)
  return {
    valid: true as const,
    kind: 'actor' as const,
    // What stands in the row of a machine agent is nobody's address.
    user: found.machineAgent ? { ...found.user, email: null } : found.user,
    ...matchOrganization(found, organization),
    carries_app_roles: found.grant.carriesAppRoles,
    // What was approved and not yet removed; the agent's token may be older than that.
    scopes: actor.scopes.filter((scope) => granted.includes(scope)),
    audiences: ['api' as const],
    expires_at: actor.expiresAt.toISOString(),
    client_id: found.grant.clientId,
    client_name: found.grant.clientName ?? undefined,
    grant_id: grantId,
    machine_agent: found.machineAgent
      ? { id: found.machineAgent.id, owner_id: found.machineAgent.ownerId, scopes: [...granted] }
      : undefined,
    sources: found.grant.sources ?? undefined,
    retry_after_seconds: found.retryAfterSeconds ?? undefined,
  }
}
