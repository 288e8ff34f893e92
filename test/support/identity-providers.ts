/** Organizations with an identity provider: as drafts, on, and with agents that came in by it. */
import { platformAccessGrants } from '../../db/schema.ts'
import {
  allowIdentityProviderClient,
  createIdentityProvider,
  activateIdentityProvider,
} from '../../src/contracts/identity-provider.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { setOrganizationDomains } from '../../src/contracts/organizations.ts'
import type { Resource } from '../../src/contracts/scopes.ts'
import type { DocumentHost } from './document-host.ts'
import { makeIssuer, type Issuer } from './issuer.ts'
import { makeOrganization, makePerson, unique, type Org, type Person } from './make.ts'
import { OPERATOR_TOKEN, type TestSystem } from './system.ts'

export type ProvidedOrg = Org & { readonly domain: string }

/** An organization with a domain, in which its owner has an address. */
export async function makeOrgWithDomain(system: TestSystem): Promise<ProvidedOrg> {
  const domain = `${unique('corp')}.test`
  const owner = await makePerson(system, { email: `${unique('owner')}@${domain}` })
  const org = await makeOrganization(system, owner)
  await system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
  return { ...org, domain }
}

/** One whose provider is a draft. */
export async function addProvider(
  system: TestSystem,
  host: DocumentHost,
  org: Org,
  given: { issuer?: Issuer; tenant?: string } = {},
): Promise<Issuer & { readonly id: string }> {
  const issuer = given.issuer ?? (await makeIssuer(system, host))
  const { id } = await org.owner.call(createIdentityProvider, {
    name: 'Corporate sign-in',
    issuer: issuer.issuer,
    ...(given.tenant !== undefined && { tenant_claim: 'tenant', tenant_value: given.tenant }),
  })
  return { ...issuer, id }
}

/** One whose provider is on, with a client. */
export async function makeProvidedOrg(
  system: TestSystem,
  host: DocumentHost,
  given: Parameters<typeof addProvider>[3] = {},
) {
  const org = await makeOrgWithDomain(system)
  const provider = await addProvider(system, host, org, given)
  const claims = given.tenant === undefined ? {} : { tenant: given.tenant }
  await org.owner.call(activateIdentityProvider, {
    assertion: await provider.assertionFor(org.owner, claims),
  })
  return { org, provider }
}

export const allowClient = ({ owner }: Pick<Org, 'owner'>, client_id: string, changes: object = {}) =>
  owner.call(allowIdentityProviderClient, {
    client_id,
    max_scopes: ['data:read', 'maintenance:read'],
    resources: ['platform'],
    ...changes,
  })

/** The row of an exchange; how one comes about is walked elsewhere. */
export async function addEnterpriseGrant(
  system: TestSystem,
  { id: orgId }: Org,
  provider: { readonly id: string },
  person: Pick<Person, 'userId'>,
  { clientId = 'an-assistant', resource = 'platform' }: { clientId?: string; resource?: Resource } = {},
): Promise<string> {
  const now = system.clock.now()
  const id = makeId('grt', now.getTime())
  await system.db.insert(platformAccessGrants).values({
    id,
    orgId,
    userId: person.userId,
    clientId,
    clientKind: 'pre_registered',
    redirectHost: '',
    via: 'enterprise',
    identityProviderId: provider.id,
    resource,
    scopes: ['data:read'],
    payload: {},
    keyEpoch: system.system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  })
  return id
}
