/**
 * Who calls. The agent's own token is read here and goes no further: other services get an actor assertion, valid for a
 * minute and only between our services.
 */
import type { Context } from 'hono'
import { httpClient, type CallOptions } from '../src/client/http-client.ts'
import { notServed, ServiceError } from '../src/contracts/errors.ts'
import { BEARER_MAX } from '../src/contracts/limits.ts'
import type { Role } from '../src/contracts/roles.ts'
import { RESOURCE_SCOPES, SCOPE_NAMES, type Resource, type Scope } from '../src/contracts/scopes.ts'
import { isPerson, validateToken, type PersonValidation } from '../src/contracts/tokens.ts'
import type { AgentClaims } from '../src/trust/access-token.ts'
import { answerForAssertion } from '../src/trust/fresh-validations.ts'
import { sha256 } from '../src/trust/keyed-hash.ts'
import { answerBelongsTo, memberOf, untilMayAnswer } from '../src/trust/open-answers.ts'
import type { McpEnv, McpDeps } from './dependencies.ts'
import { resourceUrl } from './resource.ts'

/** The principal of one request, as the auth service validated it a moment ago. */
export type McpPrincipal = {
  readonly userId: string
  readonly orgId: string
  readonly user: PersonValidation['user']
  readonly organization: NonNullable<Valid['organization']>
  readonly role: Role
  readonly scopes: readonly Scope[]
  readonly clientId?: string | undefined
  /** It acts without a person. */
  readonly machineAgent?: PersonValidation['machine_agent']
  /** Those of its token, and those that another token could have: a person may allow more, a machine agent has its own. */
  readonly obtainableScopes: readonly Scope[]
  readonly assertion: string
  /** What the auth service answered, for the gateway in the same process. */
  readonly validation: object | undefined
  /** Set when it made too many calls: this one is refused. */
  readonly retryAfterSeconds: number | undefined
}

/** Whoever holds the token, before the auth service is asked. */
export type Credential = {
  /** The same for all calls of a grant or an API token. */
  readonly key: string
  /** Undefined for an API token, which does not say whose it is. */
  readonly userId: string | undefined
  /** Counts a call. Undefined when the token is not accepted; throws when that cannot be determined now. */
  authenticate(): Promise<McpPrincipal | undefined>
}

type Valid = PersonValidation

type Presented = { token: string; resource: Resource; as: CallOptions }

/** From the header only: a URL ends up in logs and histories (RFC 6750, 2.3). */
export function bearerOf(c: Context<McpEnv>): string | undefined {
  const [scheme, token, ...rest] = (c.req.header('authorization') ?? '').trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && rest.length === 0 ? token : undefined
}

/** Undefined when the token is certainly not accepted. */
export async function identify(deps: McpDeps, presented: Presented): Promise<Credential | undefined> {
  const { token, resource } = presented
  if (token.length > BEARER_MAX) return undefined
  // Without its lease this process answers nobody.
  await untilMayAnswer()
  if (token.startsWith('svc_')) {
    return {
      key: sha256(token),
      userId: undefined,
      authenticate: () => unlessRefused(authenticateApiToken(deps, presented)),
    }
  }
  if (deps.authMode === 'hosted') return undefined
  const claims = await deps.accessTokens.verify(token, resourceUrl(deps.mcpUrl, resource), deps.clock())
  // Also while it waits for its turn.
  if (claims) answerBelongsTo([claims.grantId, claims.orgId, memberOf(claims.orgId, claims.userId)])
  return (
    claims && {
      key: claims.grantId,
      userId: claims.userId,
      authenticate: () => unlessRefused(authenticateGrant(deps, presented, claims)),
    }
  )
}

async function unlessRefused(
  authenticated: Promise<McpPrincipal | undefined>,
): Promise<McpPrincipal | undefined> {
  try {
    return await authenticated
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'UNAUTHENTICATED') return undefined
    throw error
  }
}

async function authenticateGrant(
  deps: McpDeps,
  { resource, as }: Presented,
  { userId, orgId, clientId, grantId, scopes }: AgentClaims,
): Promise<McpPrincipal | undefined> {
  const actor = { userId, orgId, clientId, grantId, scopes }
  const assertion = await deps.actorAssertions.sign(actor, deps.clock())
  /*
   * A token is valid for an hour, its grant may have ended a second ago: the auth service checks the grant every time.
   * Without that, lists and handshakes, which call no gateway, would outlive the grant; a revoked agent would get a tool
   * error instead of the 401 that makes it connect again; and role and scopes, by which tools are listed and scopes asked
   * for, would be an hour old. The gateway trusts no other service about it, this one included, so that a leaked assertion
   * is worthless once its grant has ended: it asks the auth service again, unless it is handed the very answer that this
   * one got in the same process within the last second (src/trust/fresh-validations.ts).
   */
  const valid = await httpClient(deps.auth, as)(validateToken, { token: assertion, audience: resource })
  if (!isPerson(valid)) return undefined
  const { user, organization, role, machine_agent: machineAgent } = valid
  if (user.id !== userId || organization?.id !== orgId || role === null) return undefined
  if (machineAgent) answerBelongsTo([memberOf(orgId, machineAgent.owner_id)])
  const granted = {
    scopes: valid.scopes ?? [],
    machineAgent,
    obtainableScopes: machineAgent?.scopes ?? SCOPE_NAMES,
    retryAfterSeconds: valid.retry_after_seconds,
  }
  return { userId, orgId, user, organization, role, clientId, assertion, validation: valid, ...granted }
}

async function authenticateApiToken(
  deps: McpDeps,
  { token, resource, as }: Presented,
): Promise<McpPrincipal | undefined> {
  // Its turn may have come long after it was presented.
  await untilMayAnswer()
  const valid = await httpClient(deps.auth, as)(validateToken, { token, audience: resource })
  if (!isPerson(valid)) return undefined
  const { kind, user, organization, role, token_id: tokenId } = valid
  if (kind !== 'api_token' || organization === null || role === null || user.email === null) return undefined
  if (deps.servedOrganizations?.has(organization.id) === false) throw notServed()
  if (tokenId === undefined) {
    throw new ServiceError('UNEXPECTED', undefined, { cause: 'the auth service did not name the API token' })
  }
  answerBelongsTo([tokenId, organization.id, memberOf(organization.id, user.id)])
  const actor = {
    userId: user.id,
    orgId: organization.id,
    known: {
      email: user.email,
      name: user.name,
      orgName: organization.name,
      orgSlug: organization.slug,
      role,
      membership: valid.membership,
      carriesAppRoles: valid.carries_app_roles,
    },
    // Also for an unscoped token: an assistant at this endpoint never needs the scopes of the other one.
    scopes: RESOURCE_SCOPES[resource].filter((scope) => valid.scopes?.includes(scope) ?? true),
    tokenId,
  }
  const now = deps.clock()
  const assertion = await deps.actorAssertions.sign(actor, now)
  const { userId, orgId, scopes } = actor
  const validation = answerForAssertion(valid, { token, assertion, scopes, now })
  const common = { userId, orgId, user, organization, role, scopes, assertion, validation }
  return { ...common, obtainableScopes: common.scopes, retryAfterSeconds: valid.retry_after_seconds }
}
