/** An organization with an identity provider, its clients and links, and the exchange of an assertion. */
import { and, eq } from '../../db/drizzle.ts'
import {
  assertionRefusals,
  assertionUses,
  identityLinks,
  identityProviderClients,
  identityProviderRules,
  organizationIdentityProviders,
  platformAccessGrants,
  platformOauthClients,
} from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { RESOURCES, type Scope } from '../../src/contracts/scopes.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { newAddress, type HttpAnswer, type ListeningSystem } from './assistant.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from './make.ts'
import type { Claims, Issuer } from './issuer.ts'

export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

type System = Pick<ListeningSystem, 'db' | 'clock' | 'origin'>
type ProviderRow = typeof organizationIdentityProviders.$inferInsert

/** As proven and on, unless `changes` say otherwise. */
export async function trust(
  { db, clock }: System,
  org: Org,
  provider: Pick<Issuer, 'issuer' | 'jwksUri'>,
  changes: Partial<ProviderRow> = {},
): Promise<string> {
  const now = clock.now()
  const id = makeId('idp', now.getTime())
  await db.insert(organizationIdentityProviders).values({
    id,
    orgId: org.id,
    name: 'Company sign-in',
    issuer: provider.issuer,
    jwksUri: provider.jwksUri,
    state: 'on',
    linking: 'admin',
    defaultScopes: ['data:read', 'maintenance:read', 'notifications:read'],
    assertionSeconds: 600,
    tokenMinutes: 15,
    provenAt: now,
    provenBy: org.owner.userId,
    createdAt: now,
    ...changes,
  })
  return id
}

export const setProvider = ({ db }: System, id: string, set: Partial<ProviderRow>) =>
  db.update(organizationIdentityProviders).set(set).where(eq(organizationIdentityProviders.id, id))

const ALL_SCOPES: Scope[] = ['data:read', 'maintenance:read', 'notifications:read', 'notifications:write']

export async function allow(
  { db, clock }: System,
  providerId: string,
  clientId: string,
  changes: Partial<typeof identityProviderClients.$inferInsert> = {},
): Promise<void> {
  await db.insert(identityProviderClients).values({
    providerId,
    clientId,
    kind: 'pre_registered',
    maxScopes: ALL_SCOPES,
    resources: [...RESOURCES],
    createdAt: clock.now(),
    ...changes,
  })
}

export async function link(
  { db, clock }: System,
  providerId: string,
  subject: string,
  { userId }: { userId: string },
): Promise<string> {
  const id = makeId('idl', clock.now().getTime())
  await db
    .insert(identityLinks)
    .values({ id, providerId, subject, userId, linkedBy: 'admin', createdAt: clock.now() })
  return id
}

export async function setRules(
  { db }: System,
  providerId: string,
  rules: { claim?: string; value?: string; scopes: Scope[]; sources?: string[] }[],
): Promise<void> {
  await db.delete(identityProviderRules).where(eq(identityProviderRules.providerId, providerId))
  if (rules.length === 0) return
  await db
    .insert(identityProviderRules)
    .values(rules.map((rule, position) => ({ providerId, position, ...rule })))
}

export type ClientWithSecret = { readonly clientId: string; readonly secret: string }

/** As an operator writes one for assertions: a secret, and nowhere to send anybody. */
export async function clientWithSecret({ db, clock }: System): Promise<ClientWithSecret> {
  const secret = unique('secret')
  const clientId = unique('client')
  await db.insert(platformOauthClients).values({
    clientId,
    kind: 'pre_registered',
    metadata: {
      client_name: 'Company assistant',
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret: sha256(secret),
    },
    createdAt: clock.now(),
  })
  return { clientId, secret }
}

/** An organization that trusts a provider, with one client on its list and one linked member. */
export async function company(system: ListeningSystem, provider: Issuer, given: Partial<ProviderRow> = {}) {
  const org = await makeOrganization(system)
  const person = await makeMember(system, org, 'developer')
  const providerId = await trust(system, org, provider, given)
  const client = await clientWithSecret(system)
  await allow(system, providerId, client.clientId)
  const subject = unique('subject')
  const linkId = await link(system, providerId, subject, person)
  /** What its provider says of its member to its client, unless told otherwise. */
  const claims = (changes: Claims = {}): Claims => ({
    sub: subject,
    client_id: client.clientId,
    scope: 'data:read maintenance:read',
    ...changes,
  })
  return {
    org,
    person,
    providerId,
    client,
    subject,
    linkId,
    provider,
    claims,
    assertion: (changes: Claims = {}, options: Parameters<Issuer['sign']>[1] = {}) =>
      provider.sign(claims(changes), options),
  }
}

export type Company = Awaited<ReturnType<typeof company>>

type Fields = Record<string, string | readonly string[] | undefined>

export async function postToken(
  { origin }: Pick<ListeningSystem, 'origin'>,
  fields: Fields,
  headers: Record<string, string> = {},
  address = newAddress(),
): Promise<HttpAnswer> {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    for (const one of value === undefined ? [] : [value].flat()) body.append(name, one)
  }
  const response = await fetch(`${origin}/oauth/token`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address, ...headers },
    body,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Claims }
}

export const basic = ({ clientId, secret }: ClientWithSecret): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
})

export const exchange = (
  system: Pick<ListeningSystem, 'origin'>,
  client: ClientWithSecret,
  assertion: string | readonly string[],
  fields: Fields = {},
  address?: string,
): Promise<HttpAnswer> =>
  postToken(system, { grant_type: JWT_BEARER, assertion, ...fields }, basic(client), address)

export const tokenIn = ({ status, text, body }: HttpAnswer): string => {
  if (status !== 200) throw new Error(`No token (${status}): ${text}`)
  return String(body.access_token)
}

export const claimsIn = (token: string): Claims =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Claims

export const grantsBy = ({ db }: System, providerId: string) =>
  db.select().from(platformAccessGrants).where(eq(platformAccessGrants.identityProviderId, providerId))

export const usesOf = ({ db }: System, providerId: string) =>
  db.select().from(assertionUses).where(eq(assertionUses.providerId, providerId))

export const refusalsOf = ({ db }: System, providerId: string) =>
  db
    .select()
    .from(assertionRefusals)
    .where(eq(assertionRefusals.providerId, providerId))
    .orderBy(assertionRefusals.id)

export const linksOf = ({ db }: System, providerId: string, person?: Person) =>
  db
    .select()
    .from(identityLinks)
    .where(and(eq(identityLinks.providerId, providerId), person && eq(identityLinks.userId, person.userId)))
