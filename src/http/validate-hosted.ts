/**
 * With hosted auth: only members of the organizations that this installation serves are let in, and who the vendor says
 * that they are is remembered.
 */
import { httpClient } from '../client/http-client.ts'
import { notServed } from '../contracts/errors.ts'
import { ACTOR_ASSERTION_SECONDS } from '../contracts/limits.ts'
import { listOrganizations } from '../contracts/organizations.ts'
import { isWorkload } from '../contracts/tokens.ts'
import type { Storage } from '../cores/dependencies.ts'
import { rememberValidation } from '../cores/directory/index.ts'
import type { TokenValidation } from '../cores/identity/index.ts'
import type { Service } from '../client/service.ts'
import type { Validate } from './authenticate.ts'

type Presented = Parameters<Validate>[0]

type HostedDeps = Storage & {
  readonly auth: Service
  /** Ids. */
  readonly servedOrganizations: ReadonlySet<string>
}

export function validateHosted(deps: HostedDeps, validate: Validate): Validate {
  return async (presented) => {
    const askedAt = deps.clock()
    const valid = await validateServed(deps, validate, presented)
    await remember(deps, valid, askedAt)
    return valid
  }
}

async function validateServed(
  deps: HostedDeps,
  validate: Validate,
  presented: Presented,
): Promise<TokenValidation> {
  const valid = await validate(presented)
  if (isServed(deps, valid)) return valid
  if (presented.organization === undefined) {
    const own = await findOwnServed(deps, presented, valid)
    const chosen = own === undefined ? undefined : await validate({ ...presented, organization: own })
    if (chosen && isServed(deps, chosen)) return chosen
    throw notServed()
  }
  if (valid.organization !== null) throw notServed()
  // One that is not theirs: it does not exist for them, provided that they belong here at all.
  await validateServed(deps, validate, { ...presented, organization: undefined })
  return valid
}

const isServed = ({ servedOrganizations }: HostedDeps, { organization }: TokenValidation): boolean =>
  organization !== null && servedOrganizations.has(organization.id)

/** The organization last chosen may be one that is not served here; then the first of theirs that is. */
async function findOwnServed(
  { auth, servedOrganizations }: HostedDeps,
  { token, requestId, address }: Presented,
  { kind }: TokenValidation,
): Promise<string | undefined> {
  // Any other token belongs to one organization.
  if (kind !== 'user') return undefined
  const { organizations } = await httpClient(auth, { token, requestId, address })(listOrganizations, {
    limit: 100,
  })
  return organizations.find(({ id }) => servedOrganizations.has(id))?.id
}

async function remember(deps: HostedDeps, valid: TokenValidation, askedAt: Date): Promise<void> {
  if (isWorkload(valid)) return
  const { user, organization, role, membership } = valid
  // Support staff are not members.
  if (organization === null || role === null || valid.support_session_id !== undefined) return
  await rememberValidation(deps, {
    orgId: organization.id,
    userId: user.id,
    membershipId: membership?.id ?? user.id,
    role: membership?.role ?? role,
    name: user.name,
    email: membership?.email_verified ? user.email : null,
    orgName: organization.name,
    timezone: membership?.timezone ?? 'UTC',
    validatedAt: valid.kind === 'actor' ? signedAt(valid, askedAt) : askedAt,
  })
}

/** An assertion says what the MCP server was told when it signed it. */
const signedAt = ({ expires_at }: TokenValidation, askedAt: Date): Date =>
  expires_at === null ? askedAt : new Date(new Date(expires_at).getTime() - ACTOR_ASSERTION_SECONDS * 1000)
