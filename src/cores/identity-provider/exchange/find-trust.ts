/** Whom an assertion is about, if it is genuine: its provider, client, rules, person and grants, in one statement. */
import { and, eq, inArray, isNotNull, sql } from '../../../../db/drizzle.ts'
import {
  identityLinks,
  identityProviderClients,
  identityProviderRules,
  memberships,
  organizationClientBlocks,
  organizationIdentityProviders,
  organizations,
  platformAccessGrants,
  users,
} from '../../../../db/schema.ts'
import type { Handle } from '../../../../db/connect.ts'
import type { Resource, Scope } from '../../../contracts/scopes.ts'
import { preparedQuery } from '../../prepared-query.ts'
import type { Rule } from '../rights.ts'
import { tenantIn, type UnverifiedAssertion } from '../verify-assertion.ts'

export type Trusted = NonNullable<Awaited<ReturnType<typeof findTrust>>>

/** Undefined: nobody trusts its issuer, or not for its tenant. */
export async function findTrust(
  db: Handle,
  { issuer, subject, claims }: UnverifiedAssertion,
  clientId: string,
) {
  const rows = await trustQuery(db).execute({
    issuer,
    subject,
    clientId,
    tenants: JSON.stringify(possibleTenants(claims)),
  })
  const ofTenant = rows.filter(
    ({ provider: { tenantClaim, tenantValue } }) =>
      tenantClaim === '' || tenantIn(claims, tenantClaim) === tenantValue,
  )
  const [row] = ofTenant.toSorted(
    (a, b) => rank(b.provider) - rank(a.provider) || provenAt(b.provider) - provenAt(a.provider),
  )
  return row && { ...row, rules: row.rules.map(readRule), grants: row.grants.map(readGrant) }
}

/** One that is on before one that is paused; one with a tenant before one without; then the one that was proven last. */
const rank = ({ state, tenantClaim }: { state: string; tenantClaim: string }): number =>
  (state === 'on' ? 2 : 0) + (tenantClaim === '' ? 0 : 1)

const provenAt = (provider: { provenAt: Date | null }): number => provider.provenAt?.getTime() ?? 0

/** Which claim says it depends on the row; the values are few and short. */
const possibleTenants = (claims: UnverifiedAssertion['claims']): string[] => [
  '',
  ...Object.values(claims).filter(
    (value): value is string =>
      typeof value === 'string' && value.length <= 300 && !value.includes('\0') && value.isWellFormed(),
  ),
]

type RuleRow = [claim: string | null, value: string | null, scopes: Scope[], sources: string[] | null]
type GrantRow = [id: string, resource: Resource, expiresAt: string, keyEpoch: string]

const readRule = ([claim, value, scopes, sources]: RuleRow): Rule => ({ claim, value, scopes, sources })
const readGrant = ([id, resource, expiresAt, keyEpoch]: GrantRow) => ({
  id,
  resource,
  expiresAt: new Date(expiresAt),
  keyEpoch,
})

const [providers, clients, links] = [organizationIdentityProviders, identityProviderClients, identityLinks]
const clientId = sql.placeholder('clientId')

/** Nothing unproven is trusted, not even to be told what was refused: nobody knows whose it is. */
const trustQuery = preparedQuery((db) =>
  db
    .select({
      provider: providers,
      organization: { slug: organizations.slug, agentsEnabled: organizations.agentsEnabled },
      client: clients,
      block: organizationClientBlocks.clientId,
      link: { id: links.id, lastUsedAt: links.lastUsedAt },
      user: { id: users.id, name: users.name, email: users.email, kind: users.kind },
      role: memberships.role,
      rules: sql<RuleRow[]>`coalesce((
        select json_agg(json_build_array(claim, value, scopes, sources) order by position)
        from ${identityProviderRules} where provider_id = ${providers.id}), '[]')`,
      grants: sql<GrantRow[]>`coalesce((
        select json_agg(json_build_array(id, resource, expires_at, key_epoch)) from ${platformAccessGrants}
        where identity_provider_id = ${providers.id} and user_id = ${links.userId} and client_id = ${clientId}
          and revoked_at is null), '[]')`,
    })
    .from(providers)
    .innerJoin(organizations, eq(organizations.id, providers.orgId))
    .leftJoin(clients, and(eq(clients.providerId, providers.id), eq(clients.clientId, clientId)))
    .leftJoin(
      organizationClientBlocks,
      and(
        eq(organizationClientBlocks.orgId, providers.orgId),
        eq(organizationClientBlocks.clientId, clientId),
      ),
    )
    .leftJoin(links, and(eq(links.providerId, providers.id), eq(links.subject, sql.placeholder('subject'))))
    .leftJoin(users, eq(users.id, links.userId))
    .leftJoin(memberships, and(eq(memberships.orgId, providers.orgId), eq(memberships.userId, links.userId)))
    .where(
      and(
        eq(providers.issuer, sql.placeholder('issuer')),
        inArray(providers.state, ['on', 'paused']),
        isNotNull(providers.provenAt),
        sql`${providers.tenantValue} in (select json_array_elements_text(${sql.placeholder('tenants')}::json))`,
      ),
    )
    .prepare('identity_provider_trust'),
)

/** Whether any organization has the client on its list. */
export const isListed = async (db: Handle, asked: string): Promise<boolean> =>
  (await listedQuery(db).execute({ clientId: asked })).length > 0

const listedQuery = preparedQuery((db) =>
  db
    .select({ id: clients.clientId })
    .from(clients)
    .innerJoin(providers, eq(providers.id, clients.providerId))
    .where(
      and(
        eq(clients.clientId, clientId),
        inArray(providers.state, ['on', 'paused']),
        isNotNull(providers.provenAt),
      ),
    )
    .limit(1)
    .prepare('identity_provider_client_listed'),
)
