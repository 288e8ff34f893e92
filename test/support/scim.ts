/** A directory that provisions people: organizations with SCIM, and requests as Entra and Okta document them. */
import { scimBearers } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { setOrganizationDomains } from '../../src/contracts/organizations.ts'
import { createScimBearer, SCIM_PATH } from '../../src/contracts/scim.ts'
import { SCIM_TYPE, SCIM_URN } from '../../src/contracts/scim-resources.ts'
import { readKeyEpoch } from '../../src/cores/key-epoch.ts'
import { makeScimBearer, scimBearerHash, scimBearerPrefix } from '../../src/trust/scim-bearer.ts'
import { makeOrganization, unique, type Org } from './make.ts'
import { OPERATOR_TOKEN, type TestSystem } from './system.ts'

export type Resource = {
  readonly id: string
  readonly active?: boolean
  readonly members?: readonly { readonly value: string }[]
  readonly [name: string]: unknown
}

export type ScimAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly body: Resource & { readonly Resources: readonly Resource[]; readonly totalResults: number }
}

export type Directory = (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ScimAnswer>

export const directoryOf =
  (system: Pick<TestSystem, 'fetch'>, token: string): Directory =>
  async (method, path, body, headers = {}) => {
    const response = await system.fetch(SCIM_PATH + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': SCIM_TYPE, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const read = (text === '' ? {} : JSON.parse(text)) as ScimAnswer['body']
    return { status: response.status, headers: response.headers, body: read }
  }

export type ScimOrg = {
  readonly org: Org
  readonly domain: string
  readonly token: string
  readonly directory: Directory
}

export async function giveDomain(system: TestSystem, org: Org): Promise<string> {
  const domain = `${unique('corp')}.test`
  await system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
  return domain
}

/** Set up by its owner, at a sign-in provider of the installation. */
export async function makeScimOrg(
  system: TestSystem,
  chosen: { readonly provider: string; readonly tenant?: string; readonly domain?: string } = {
    provider: 'oidc',
  },
): Promise<ScimOrg> {
  const org = await makeOrganization(system)
  const { provider, tenant } = chosen
  const domain = chosen.domain ?? (await giveDomain(system, org))
  if (chosen.domain !== undefined)
    await system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
  const { token } = await org.owner.call(createScimBearer, {
    provider,
    ...(tenant !== undefined && { tenant }),
  })
  return { org, domain, token, directory: directoryOf(system, token) }
}

/** Where the installation has no sign-in provider. */
export async function insertScimBearer(system: TestSystem, org: Org): Promise<ScimOrg> {
  const [token, now] = [makeScimBearer(), system.clock.now()]
  await system.db.insert(scimBearers).values({
    orgId: org.id,
    id: makeId('scb', now.getTime()),
    provider: 'oidc',
    issuer: 'https://idp.test',
    startsWith: scimBearerPrefix(token),
    secretHash: scimBearerHash(token),
    keyEpoch: await readKeyEpoch(system.db),
    createdBy: org.owner.userId,
    createdByName: org.owner.name,
    createdAt: now,
    fullUntil: now,
  })
  return { org, domain: await giveDomain(system, org), token, directory: directoryOf(system, token) }
}

/** As in Microsoft's tutorial on building a SCIM endpoint. */
export const entraUser = (userName: string, externalId: string = unique('oid')) => ({
  schemas: [SCIM_URN.user, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
  externalId,
  userName,
  active: true,
  displayName: 'Ada Lovelace',
  emails: [{ primary: true, type: 'work', value: userName }],
  meta: { resourceType: 'User' },
  name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
  roles: [],
})

/** As in Okta's reference of its SCIM requests. */
export const oktaUser = (userName: string, externalId: string = unique('00u')) => ({
  schemas: [SCIM_URN.user],
  userName,
  name: { givenName: 'Grace', familyName: 'Hopper' },
  emails: [{ primary: true, value: userName, type: 'work' }],
  displayName: 'Grace Hopper',
  locale: 'en-US',
  externalId,
  groups: [],
  password: '1mz050nq',
  active: true,
})

export const patch = (...Operations: readonly object[]) => ({ schemas: [SCIM_URN.patch], Operations })

/** Provisions somebody, and says their id. */
export async function provision(
  { directory, domain }: ScimOrg,
  {
    email = `${unique('ada')}@${domain}`,
    externalId = unique('oid'),
  }: { email?: string; externalId?: string } = {},
): Promise<{ readonly id: string; readonly email: string; readonly externalId: string }> {
  const { body } = await directory('POST', '/Users', entraUser(email, externalId))
  return { id: body.id, email, externalId }
}
