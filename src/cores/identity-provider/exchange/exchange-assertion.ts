/** What an assertion of an organization's identity provider is exchanged for: the grant that a token is issued on. */
import { eq, sql } from '../../../../db/drizzle.ts'
import {
  assertionUses,
  identityLinks,
  identityProviderClients,
  organizationIdentityProviders,
  platformAccessGrants,
} from '../../../../db/schema.ts'
import type { ClientKind } from '../../../contracts/grants.ts'
import type { RefusalReason } from '../../../contracts/identity-provider-states.ts'
import { makeId } from '../../../contracts/ids.ts'
import { ENTERPRISE_GRANT_SECONDS, ASSERTION_GRACE_SECONDS } from '../../../contracts/limits.ts'
import type { Resource, Scope } from '../../../contracts/scopes.ts'
import type { Keys } from '../../dependencies.ts'
import { findLiveGrant, grantedScopes, resourceAt, type LivenessDeps } from '../../grants/index.ts'
import { preparedQuery } from '../../prepared-query.ts'
import { retried, withTransaction } from '../../transaction.ts'
import { acceptedUntil, assertionUseId } from '../assertion-use-id.ts'
import { findUnlinked, linkedPerson, type FoundPerson, type Newcomer } from '../find-person.ts'
import type { ProviderKeys } from '../provider-keys.ts'
import { rightsOf } from '../rights.ts'
import {
  isRefused,
  readAssertion,
  verifyAssertion,
  type Assertion,
  type Refused,
  type UnverifiedAssertion,
} from '../verify-assertion.ts'
import { findTrust, isListed, type Trusted } from './find-trust.ts'
import { linkSubject } from './link-subject.ts'
import { recordRefusal } from './record-refusal.ts'
import { useAssertion, type Use } from './use-assertion.ts'

export type ExchangeDeps = LivenessDeps &
  Keys & {
    readonly providerKeys: ProviderKeys
    readonly issuer: URL
    readonly mcpUrl: URL
  }

/** A token request of a client that is authenticated, as far as it can be. */
export type ExchangeRequest = {
  readonly assertion: string
  readonly client: {
    readonly id: string
    readonly kind: ClientKind
    readonly name: string | null
    readonly isPublic: boolean
    readonly documentSha256: string | null
  }
  readonly scope: string | undefined
  readonly resources: readonly string[]
  readonly requestId: string
}

export type Exchanged = {
  readonly userId: string
  readonly orgId: string
  readonly grantId: string
  readonly resource: Resource
  readonly scopes: readonly Scope[]
  readonly tokenSeconds: number
  /** The same assertion again. */
  readonly isRepeated: boolean
}

/** RFC 6749, 5.2 and RFC 8707, 2. */
export type ExchangeError = 'invalid_grant' | 'invalid_scope' | 'invalid_target' | 'unauthorized_client'

/** Beyond the reason, whether a parameter of the request is at fault. */
type Refusal = Refused & { readonly error?: ExchangeError }

/** A decision that a change made void is made again; nobody changes their rules as fast as that. */
const ATTEMPTS_MAX = 3

export async function exchangeAssertion(
  deps: ExchangeDeps,
  request: ExchangeRequest,
): Promise<Exchanged | { readonly error: ExchangeError }> {
  const { client } = request
  // A client on nobody's list is told so, whatever it shows: nothing is looked up or kept for it.
  if (!(await isListed(deps.db, client.id))) return { error: 'unauthorized_client' }
  const read = readAssertion(request.assertion)
  if (isRefused(read)) return errorOf(read)
  for (let attempt = 1; ; attempt++) {
    const trusted = await findTrust(deps.db, read, client.id)
    // The same answer as for every other assertion, and nothing is fetched or stored.
    if (!trusted) return errorOf({ reason: 'issuer' })
    const outcome = await decide(deps, request, read, trusted)
    if (outcome === 'void') {
      if (attempt < ATTEMPTS_MAX) continue
      // Nothing is wrong with it, so the log has no reason to tell.
      return { error: 'invalid_grant' }
    }
    if (!isRefused(outcome)) return outcome
    const { subject, keyId } = read
    const entry = { reason: outcome.reason, clientId: client.id, subject, keyId }
    // A client that may not come in would fill the log at will. `client_public` comes after the signature: that helps.
    const mayComeIn = problemWithClient(trusted.client, request) === undefined
    if (mayComeIn || outcome.reason === 'client_public') await recordRefusal(deps, trusted.provider.id, entry)
    return errorOf(outcome)
  }
}

const ERRORS: Partial<Record<RefusalReason, ExchangeError>> = {
  client_not_allowed: 'unauthorized_client',
  client_public: 'unauthorized_client',
  rule: 'invalid_scope',
  scope: 'invalid_scope',
}

/** That a client is not on this list it learns only after the signature was verified: else it would say who is trusted. */
const errorOf = ({ reason, error = ERRORS[reason] ?? 'invalid_grant' }: Refusal) => ({ error })

type Outcome = Exchanged | Refusal | 'void'

/** All of it before anything is stored: an assertion that is refused makes no account, no member and no link. */
async function decide(
  deps: ExchangeDeps,
  request: ExchangeRequest,
  read: UnverifiedAssertion,
  trusted: Trusted,
): Promise<Outcome> {
  const { provider, organization, client, link, user, role } = trusted
  if (provider.state !== 'on') return { reason: 'paused' }
  const trust = { ...provider, orgSlug: organization.slug }
  const assertion = await verifyAssertion(read, trust, {
    keys: deps.providerKeys,
    audience: deps.issuer.origin,
    clientId: request.client.id,
    checkClient: () => problemWithClient(client, request),
    now: deps.clock(),
  })
  if (isRefused(assertion)) return assertion
  const person =
    link && user ? linkedPerson({ user, role }, assertion) : await findUnlinked(deps.db, provider, assertion)
  if (isRefused(person)) return person
  if (!organization.agentsEnabled) return { reason: 'agents_off' }
  if (trusted.block !== null) return { reason: 'client_blocked' }
  const resource = chooseResource(deps, assertion, request.resources, client!.resources)
  if (typeof resource !== 'string') return resource
  const rights = rightsOf(
    { rules: trusted.rules, defaultScopes: provider.defaultScopes, maxScopes: client!.maxScopes },
    {
      role: 'newcomer' in person ? 'member' : person.role,
      resource,
      claims: assertion.claims,
      claimed: assertion.scopes,
      requested: request.scope?.split(' '),
    },
  )
  if (rights.scopes.length === 0) {
    const refusing = rights.rule !== null && trusted.rules[rights.rule]!.scopes.length === 0
    return { reason: refusing ? 'rule' : 'scope' }
  }
  return issue(deps, request, { trusted, assertion, person, resource, rights })
}

function problemWithClient(client: Trusted['client'], request: ExchangeRequest): Refused | undefined {
  if (!client) return { reason: 'client_not_allowed' }
  return request.client.isPublic && !client.mayBePublic ? { reason: 'client_public' } : undefined
}

/** The claim's, else the parameter's, else the first that the client may use: one endpoint, whoever names it. */
function chooseResource(
  { mcpUrl }: ExchangeDeps,
  { resource: claimed }: Assertion,
  requested: readonly string[],
  allowed: readonly Resource[],
): Resource | Refusal {
  const byClaim = claimed === undefined ? undefined : resourceAt(mcpUrl, claimed)
  if (claimed !== undefined && (byClaim === undefined || !allowed.includes(byClaim))) {
    return { reason: 'resource' }
  }
  const named = new Set(requested.map((spelled) => resourceAt(mcpUrl, spelled)))
  const [byParameter] = named
  const isAmiss = requested.length > 0 && (named.size > 1 || !byParameter || !allowed.includes(byParameter))
  if (isAmiss || (byClaim && byParameter && byClaim !== byParameter)) {
    return { reason: 'resource', error: 'invalid_target' }
  }
  const usual = allowed.includes('platform') ? 'platform' : allowed[0]
  return byClaim ?? byParameter ?? usual ?? { reason: 'resource' }
}

type Decision = {
  readonly trusted: Trusted
  readonly assertion: Assertion
  readonly person: FoundPerson | Newcomer
  readonly resource: Resource
  readonly rights: ReturnType<typeof rightsOf>
}

type LinkedUser = Pick<Use, 'user' | 'linkId'>

async function issue(deps: ExchangeDeps, request: ExchangeRequest, decision: Decision): Promise<Outcome> {
  const { trusted, assertion, resource, rights } = decision
  const { provider } = trusted
  const now = deps.clock()
  const useId = assertionUseId(deps, provider, assertion)
  const name = trusted.client!.name ?? request.client.name
  const used = await linkAndUse(deps, request, decision, {
    id: useId,
    now,
    expiresAt: acceptedUntil(assertion),
    provider,
    client: { ...request.client, name },
    host: new URL(provider.issuer).host,
    grantId: (await currentGrant(deps, decision)) ?? makeId('grt', now.getTime()),
    successorId: makeId('grt', now.getTime()),
    grantExpiresAt: new Date(now.getTime() + ENTERPRISE_GRANT_SECONDS * 1000),
    resource: { name: resource, url: `${deps.mcpUrl.origin}/${resource}` },
    scopes: rights.scopes,
    sources: rights.sources,
    keyEpoch: deps.keyEpoch,
    audit: {
      subject: `${name ?? request.client.id}: ${rights.scopes.join(' ')}; through ${provider.name}`,
      requestId: request.requestId,
    },
  })
  if (used === 'void') return 'void'
  if (used === 'used') return repeat(deps, request, decision, useId)
  await touch(deps, decision, used.linkId)
  return exchangedOn(decision, used.user.id, used.grantId, rights.scopes)
}

/** Undoes the transaction. */
class Unused extends Error {
  readonly outcome: 'void' | 'used'
  constructor(outcome: 'void' | 'used') {
    super(outcome)
    this.outcome = outcome
  }
}

/** Whoever is not linked yet is linked, or made, by the use of the assertion or not at all. */
async function linkAndUse(
  { db, clock }: ExchangeDeps,
  { requestId }: ExchangeRequest,
  { trusted: { provider, link, user }, assertion, person }: Decision,
  use: Omit<Use, keyof LinkedUser>,
): Promise<(LinkedUser & { grantId: string }) | 'void' | 'used'> {
  if (link && user) {
    const linked = { user, linkId: link.id }
    const used = await useAssertion(db, { ...use, ...linked })
    return typeof used === 'string' ? used : { ...linked, ...used }
  }
  try {
    return await withTransaction(db, async (tx) => {
      const linked = await linkSubject({ db: tx, clock }, provider, assertion, person, requestId)
      if (linked === 'void') throw new Unused('void')
      const used = await useAssertion(tx, { ...use, ...linked })
      if (typeof used === 'string') throw new Unused(used)
      return { ...linked, ...used }
    })
  } catch (error) {
    if (error instanceof Unused) return error.outcome
    throw error
  }
}

const exchangedOn = (
  { trusted: { provider }, resource }: Decision,
  userId: string,
  grantId: string,
  scopes: readonly Scope[],
  isRepeated = false,
): Exchanged => ({
  userId,
  orgId: provider.orgId,
  grantId,
  resource,
  scopes,
  tokenSeconds: provider.tokenMinutes * 60,
  isRepeated,
})

/** One that has expired, or was made under other keys, gets a stamp and a successor: it must not live again. */
async function currentGrant(
  { db, clock, keyEpoch }: ExchangeDeps,
  { trusted, resource }: Decision,
): Promise<string | undefined> {
  const grant = trusted.grants.find((one) => one.resource === resource)
  if (!grant) return undefined
  const isLive = grant.keyEpoch === keyEpoch && grant.expiresAt > clock()
  if (isLive) return grant.id
  await db
    .update(platformAccessGrants)
    .set({ revokedAt: clock(), revokedReason: grant.keyEpoch === keyEpoch ? 'expired' : 'keys_rotated' })
    .where(eq(platformAccessGrants.id, grant.id))
  return undefined
}

/**
 * Clients ask twice, or lose the answer: for a minute the same client gets a token on the same grant, if that is live.
 * After that, and for anybody else, it was used.
 */
async function repeat(
  deps: ExchangeDeps,
  { client }: ExchangeRequest,
  decision: Decision,
  useId: string,
): Promise<Outcome> {
  const { trusted, person, resource, rights } = decision
  const [use] = await deps.db.select().from(assertionUses).where(eq(assertionUses.id, useId))
  const ageMs = use ? deps.clock().getTime() - use.usedAt.getTime() : Infinity
  if (use?.clientId !== client.id || ageMs > ASSERTION_GRACE_SECONDS * 1000) return { reason: 'replayed' }
  const grant = (await findLiveGrant(deps, use.grantId))?.grant
  const isSame =
    grant?.identityProviderId === trusted.provider.id &&
    !('newcomer' in person) &&
    grant.userId === person.user.id &&
    grant.resource === resource
  if (!isSame) return { reason: 'replayed' }
  const granted = grantedScopes(grant)
  const scopes = rights.scopes.filter((scope) => granted.includes(scope))
  return scopes.length === 0
    ? { reason: 'scope' }
    : exchangedOn(decision, grant.userId, grant.id, scopes, true)
}

/** "Last used" is for people who tidy up: a minute is precise enough, and most exchanges then write nothing. */
const LAST_USED_PRECISION_MS = 60_000

async function touch({ db, clock }: ExchangeDeps, { trusted }: Decision, linkId: string): Promise<void> {
  const { provider, client, link } = trusted
  const now = clock()
  const isStale = (at: Date | null | undefined) =>
    at == null || now.getTime() - at.getTime() > LAST_USED_PRECISION_MS
  if (![provider, client, link].some((row) => isStale(row?.lastUsedAt))) return
  await retried(() =>
    touchQuery(db).execute({
      now: now.toISOString(),
      providerId: provider.id,
      clientId: client!.clientId,
      linkId,
    }),
  )
}

/**
 * Rows that somebody has locked are left for the next time: in whatever order these are taken, nobody is waited for, so two
 * exchanges can never wait for each other.
 */
const touchQuery = preparedQuery((db) => {
  const now = sql`${sql.placeholder('now')}::timestamptz`
  const providerId = sql.placeholder('providerId')
  const clientId = sql.placeholder('clientId')
  const provider = db.$with('provider', { id: organizationIdentityProviders.id }).as(sql`
    update ${organizationIdentityProviders} set last_used_at = ${now}
    where id in (select id from ${organizationIdentityProviders} where id = ${providerId} for update skip locked)
    returning id`)
  const client = db.$with('client', { id: identityProviderClients.clientId }).as(sql`
    update ${identityProviderClients} set last_used_at = ${now}
    where (provider_id, client_id) in (
      select provider_id, client_id from ${identityProviderClients}
      where provider_id = ${providerId} and client_id = ${clientId} for update skip locked)
    returning client_id`)
  return db
    .with(provider, client)
    .update(identityLinks)
    .set({ lastUsedAt: now })
    .where(
      sql`${identityLinks.id} in (
        select id from ${identityLinks} where id = ${sql.placeholder('linkId')} for update skip locked)`,
    )
    .prepare('touch_identity_provider')
})
