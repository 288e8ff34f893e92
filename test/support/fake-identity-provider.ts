/** The part of the fake gateway with the identity provider of the organization. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import * as contract from '../../src/contracts/identity-provider.ts'
import { REFUSAL_REASONS, type RefusalReason } from '../../src/contracts/identity-provider-states.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { atLeast, type Role } from '../../src/contracts/roles.ts'
import { SENSITIVE_SCOPES } from '../../src/contracts/scopes.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Shown = z.output<typeof contract.showIdentityProvider.output>
export type FakeProvider = NonNullable<Shown['identity_provider']>
type Client = z.output<typeof contract.listIdentityProviderClients.output>['clients'][number]
type Rule = z.output<typeof contract.listIdentityProviderRules.output>['rules'][number]
type Link = z.output<typeof contract.listIdentityLinks.output>['links'][number]
type Refusal = z.output<typeof contract.listRefusals.output>['refusals'][number]
type Person = { user_id: string; name: string; email: string; role: Role }
type Known = { id: string; source_id: string; name: string }

export type FakeIdentityProvider = ReturnType<typeof fakeIdentityProvider>

/** What a pasted assertion is here: the reason it is refused for, or `good`. */
export const GOOD_ASSERTION = 'good'

export function fakeIdentityProvider(
  { on, list, id, clock, organizationOf }: FakeContext,
  members: readonly Person[],
  sources: () => readonly Known[],
) {
  const data = {
    is_enabled: true,
    provider: null as FakeProvider | null,
    clients: [] as Client[],
    rules: [] as Rule[],
    links: [] as Link[],
    refusals: [] as Refusal[],
    isPinned: true,
    /** Every assertion as it arrived. */
    assertions: [] as string[],
  }
  const now = () => clock().toISOString()
  const own = <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, role: Role) => unknown,
  ) =>
    on(operation, (input, asked) => {
      const { role } = organizationOf(asked)
      if (!atLeast(role, operation.access as Role)) throw new ServiceError('FORBIDDEN')
      return handle(input, role)
    })
  const provider = (): FakeProvider => {
    if (!data.provider) throw notFound()
    return data.provider
  }
  const refuseSensitive = (role: Role, scopes: readonly string[]): void => {
    if (role !== 'owner' && SENSITIVE_SCOPES.some((scope) => scopes.includes(scope)))
      throw new ServiceError('FORBIDDEN', `Only an owner may give ${SENSITIVE_SCOPES.join(' or ')}`)
  }
  const memberOf = (user_id: string): Person => {
    const found = members.find((one) => one.user_id === user_id)
    if (!found) throw notFound()
    return found
  }

  own(contract.showIdentityProvider, () => ({
    is_enabled: data.is_enabled,
    audience: 'https://auth.svc.example',
    resources: (['platform', 'notifications'] as const).map((resource) => ({
      resource,
      url: `https://mcp.svc.example/${resource}`,
    })),
    identity_provider: data.provider,
  }))
  own(contract.createIdentityProvider, ({ name, issuer, tenant_claim, tenant_value }) => {
    if (issuer === 'https://accounts.google.com' && tenant_claim === undefined) {
      throw new ServiceError('CONFLICT', 'Several organizations share this issuer', {
        hint: 'Add it with the claim that tells them apart, hd, and your value of it.',
      })
    }
    if (issuer.includes('unreachable')) {
      throw new ServiceError('INVALID_REQUEST', 'This issuer cannot be used', {
        problems: ['issuer: it could not be reached'],
      })
    }
    data.provider = {
      id: id('idp'),
      name,
      issuer,
      tenant: tenant_claim && tenant_value ? { claim: tenant_claim, value: tenant_value } : null,
      jwks_uri: `${issuer}/keys`,
      state: 'draft',
      linking: 'admin',
      default_scopes: ['data:read'],
      assertion_seconds: 600,
      token_minutes: 15,
      is_required: false,
      proven_by: null,
      proven_at: null,
      live_grants: 0,
      created_at: now(),
      last_used_at: null,
    }
    return data.provider
  })
  own(contract.probeIdentityProvider, ({ assertion }) => {
    const { jwks_uri } = provider()
    if (assertion !== undefined) data.assertions.push(assertion)
    return {
      metadata: {
        problem: null,
        jwks_uri: data.isPinned ? jwks_uri : `${jwks_uri}/new`,
        is_pinned: data.isPinned,
      },
      keys: [{ kid: 'key-1', kty: 'ec', alg: 'ES256' }],
      keys_problem: null,
      assertion: assertion === undefined ? null : tried(assertion),
    }
  })
  const tried = (assertion: string) => {
    const refusal = REFUSAL_REASONS.find((reason) => reason === assertion) ?? null
    const at = refusal === null ? REFUSAL_REASONS.length : REFUSAL_REASONS.indexOf(refusal)
    const isVerified = at >= REFUSAL_REASONS.indexOf('client_not_allowed')
    return {
      refusal,
      checks: REFUSAL_REASONS.map((check, index) => ({
        check,
        result: check === refusal ? 'failed' : index < at ? 'passed' : 'not_reached',
      })),
      subject: isVerified ? '00u1ada' : null,
      client_id: isVerified ? 'claude' : null,
      user: refusal === null ? { id: members[0]!.user_id, ...members[0]! } : null,
    }
  }
  own(contract.activateIdentityProvider, ({ assertion }) => {
    data.assertions.push(assertion)
    if (assertion !== GOOD_ASSERTION) {
      throw new ServiceError('INVALID_REQUEST', 'This does not prove that the identity provider is yours', {
        problems: ['assertion: its address is not yours, or you have not verified yours'],
      })
    }
    const { user_id, name } = members[0]!
    return Object.assign(provider(), { state: 'on', proven_at: now(), proven_by: { id: user_id, name } })
  })
  own(contract.updateIdentityProvider, (change) => {
    const given = Object.entries(change).filter(([, value]) => value !== undefined)
    return Object.assign(provider(), Object.fromEntries(given))
  })
  own(contract.deleteIdentityProvider, () => {
    provider()
    Object.assign(data, { provider: null, clients: [], rules: [], links: [], refusals: [] })
    return {}
  })
  own(contract.endEnterpriseGrants, () => {
    const ended = provider().live_grants
    provider().live_grants = 0
    return { ended }
  })
  own(contract.listIdentityProviderClients, (input) => {
    provider()
    return list(
      'clients',
      data.clients.map((client) => ({ ...client, id: client.client_id })),
      input,
    )
  })
  own(contract.createIdentityProviderClient, ({ name, max_scopes, resources }, role) => {
    provider()
    refuseSensitive(role, max_scopes)
    const client: Client = {
      client_id: id('idc'),
      kind: 'pre_registered',
      name,
      is_public: false,
      may_be_public: false,
      is_own: true,
      max_scopes,
      resources,
      live_grants: 0,
      created_at: now(),
      last_used_at: null,
    }
    data.clients.push(client)
    return {
      ...client,
      secret: 'svcc_shown-once',
      token_endpoint: 'https://auth.example.com/oauth/token',
      resource_urls: resources.map((resource) => `https://mcp.example.com/${resource}`),
    }
  })
  own(contract.allowIdentityProviderClient, ({ client_id, ...terms }, role) => {
    provider()
    refuseSensitive(role, terms.max_scopes)
    if (client_id.startsWith('dcr_'))
      throw new ServiceError('INVALID_REQUEST', undefined, { problems: ['client_id: it registered itself'] })
    const before = data.clients.find((one) => one.client_id === client_id)
    if (before) return Object.assign(before, terms)
    const isUrl = client_id.startsWith('https://')
    const client: Client = {
      client_id,
      kind: isUrl ? 'metadata_document' : 'pre_registered',
      name: isUrl ? 'Assistant' : null,
      is_public: isUrl,
      is_own: false,
      ...terms,
      live_grants: 0,
      created_at: now(),
      last_used_at: null,
    }
    data.clients.push(client)
    return client
  })
  own(contract.forbidIdentityProviderClient, ({ client_id }) => {
    data.clients = data.clients.filter((one) => one.client_id !== client_id)
    return {}
  })
  own(contract.listIdentityProviderRules, () => {
    provider()
    return { rules: data.rules }
  })
  own(contract.setIdentityProviderRules, ({ rules }, role) => {
    provider()
    for (const { scopes } of rules) refuseSensitive(role, scopes)
    data.rules = rules.map(({ sources: named, ...rule }, index) => ({
      position: index + 1,
      ...rule,
      sources: named && sources().filter((one) => named.includes(one.source_id)),
    }))
    return { rules: data.rules }
  })
  own(contract.previewIdentityProviderRules, ({ user_id, client_id, claims }) => {
    const { role } = memberOf(user_id)
    const isAllowed = data.clients.some((one) => one.client_id === client_id)
    const rule = data.rules.find(
      ({ claim, value }) => claim === null || [claims[claim] ?? []].flat().includes(value ?? ''),
    )
    const scopes = rule?.scopes ?? provider().default_scopes
    const refusal: RefusalReason | null = !isAllowed
      ? 'client_not_allowed'
      : scopes.length === 0
        ? 'rule'
        : null
    return { role, refusal, position: rule?.position ?? null, scopes, sources: rule?.sources ?? null }
  })
  own(contract.listIdentityLinks, ({ search = '', ...input }) => {
    provider()
    const fits = ({ subject, user }: Link) =>
      `${subject} ${user.name} ${user.email}`.toLowerCase().includes(search.toLowerCase())
    return list('links', data.links.filter(fits), input)
  })
  own(contract.linkIdentity, ({ subject, user_id }, role) => {
    const member = memberOf(user_id)
    if (!atLeast(role, member.role)) throw new ServiceError('FORBIDDEN', 'Their role is above yours')
    if (data.links.some((one) => one.subject === subject))
      throw new ServiceError('CONFLICT', 'This subject is linked already')
    const { name, email } = member
    const link: Link = {
      id: id('idl'),
      subject,
      user: { id: user_id, name, email },
      linked_by: 'admin',
      created_at: now(),
      last_used_at: null,
    }
    data.links.push(link)
    return link
  })
  own(contract.unlinkIdentity, ({ link_id }) => {
    data.links = data.links.filter((one) => one.id !== link_id)
    return {}
  })
  own(contract.listRefusals, ({ reason, client_id, ...input }) => {
    provider()
    return list(
      'refusals',
      data.refusals.filter(
        (one) => (!reason || one.reason === reason) && (!client_id || one.client_id === client_id),
      ),
      input,
    )
  })
  return { data, id, clock, members }
}

/** One that is on, with clients, rules, people and refusals. */
export function seedIdentityProvider({ data, id, clock, members }: FakeIdentityProvider): void {
  const ago = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const [ada, grace] = members
  data.provider = {
    id: id('idp'),
    name: 'Okta',
    issuer: 'https://northwind.okta.example',
    tenant: null,
    jwks_uri: 'https://northwind.okta.example/oauth2/v1/keys',
    state: 'on',
    linking: 'member',
    default_scopes: ['data:read', 'maintenance:read'],
    assertion_seconds: 600,
    token_minutes: 15,
    is_required: false,
    proven_by: { id: ada!.user_id, name: ada!.name },
    proven_at: ago(20),
    live_grants: 12,
    created_at: ago(21),
    last_used_at: ago(0.01),
  }
  data.clients.push(
    {
      client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      kind: 'metadata_document',
      name: 'Claude',
      is_public: true,
      may_be_public: true,
      is_own: false,
      max_scopes: ['data:read', 'maintenance:read'],
      resources: ['platform', 'notifications'],
      live_grants: 11,
      created_at: ago(20),
      last_used_at: ago(0.01),
    },
    {
      client_id: 'desk-assistant',
      kind: 'pre_registered',
      name: 'Desk assistant',
      is_public: false,
      may_be_public: false,
      is_own: false,
      max_scopes: ['data:read'],
      resources: ['platform'],
      live_grants: 0,
      created_at: ago(3),
      last_used_at: null,
    },
  )
  data.rules.push(
    { position: 1, claim: 'groups', value: 'contractors', scopes: [], sources: null },
    {
      position: 2,
      claim: 'groups',
      value: 'engineering',
      scopes: ['data:read', 'maintenance:read', 'maintenance:run'],
      sources: null,
    },
    { position: 3, claim: null, value: null, scopes: ['data:read'], sources: null },
  )
  for (const [subject, member, linked_by] of [
    ['00u1ada', ada!, 'proof'],
    ['00u2grace', grace!, 'email'],
  ] as const) {
    const { user_id, name, email } = member
    data.links.push({
      id: id('idl'),
      subject,
      user: { id: user_id, name, email },
      linked_by,
      created_at: ago(19),
      last_used_at: ago(0.2),
    })
  }
  const refusals: [number, RefusalReason, string | null, string | null][] = [
    [0.1, 'audience', 'https://claude.ai/oauth/mcp-oauth-client-metadata', 'okta-2026-a'],
    [0.5, 'not_linked', 'https://claude.ai/oauth/mcp-oauth-client-metadata', 'okta-2026-a'],
    [2, 'malformed', null, null],
  ]
  for (const [days, reason, client_id, key_id] of refusals) {
    data.refusals.push({
      id: id('ref'),
      at: ago(days),
      reason,
      client_id,
      subject: key_id === null ? null : '00u3barbara',
      key_id,
    })
  }
}
