/**
 * Who stands at the door. The agent's own token is read here and goes no further: what travels on is an actor assertion,
 * good for a minute and only inside the house.
 */
import type { Context } from 'hono'
import type * as z from 'zod'
import { caller, type CallAs } from '../src/client/call.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { BEARER_MAX } from '../src/contracts/limits.ts'
import type { Role } from '../src/contracts/roles.ts'
import { RESOURCE_SCOPES, type Resource, type Scope } from '../src/contracts/scopes.ts'
import { validateToken, type ValidatedToken } from '../src/contracts/tokens.ts'
import type { McpEnv, McpNeeds } from './needs.ts'
import { resourceUrl } from './resource.ts'

/** Who was let in, as the auth service knew them a moment ago. */
export type Entrant = {
  readonly userId: string
  readonly orgId: string
  readonly user: Valid['user']
  readonly organization: NonNullable<Valid['organization']>
  readonly role: Role
  readonly scopes: readonly Scope[]
  readonly clientId?: string | undefined
  /** Came with a grant, which its person can widen. */
  readonly canStepUp: boolean
  readonly assertion: string
}

type Valid = z.output<typeof ValidatedToken>

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
  /*
   * A token lives for an hour, its grant may have ended a second ago: the auth service looks at the grant every time.
   * The gateway asks it again for every call that a tool makes, so a tool call costs one liveness read here and one for
   * each call behind it (`whoami`: three, with its quota and the row about it). One takes 1.0 ms on Postgres and 1.3 ms
   * on the embedded engine (median of 1,000, in one process, on two busy cores). The read here is kept. Without it,
   * lists and handshakes, which ask no gateway, would outlive the grant; a revoked agent would hear an error of a tool
   * instead of the 401 that makes it connect again; and role and scopes, by which tools are listed and scopes asked for,
   * would be an hour old. The reads there are kept too: the gateway takes nobody's word for it, this room's included,
   * so that an assertion which leaks is worth nothing once its grant has ended. What is avoided is asking `whoAmI` there
   * for what is known here.
   */
  const valid = await caller(needs.auth, as)(validateToken, { token: assertion })
  const { user, organization, role } = valid
  if (user.id !== userId || organization?.id !== orgId || role === null) return undefined
  const granted = valid.scopes ?? []
  return { userId, orgId, user, organization, role, scopes: granted, clientId, canStepUp: true, assertion }
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
  const { userId, orgId, scopes } = actor
  return { userId, orgId, user, organization, role, scopes, canStepUp: false, assertion }
}
