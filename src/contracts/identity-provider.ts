/** The identity provider that vouches for the members of an organization, and what assistants get by it. */
import * as z from 'zod'
import { SourceId } from './data-sources.ts'
import { DisplayName, Nothing, ScopeName, Time } from './fields.ts'
import { CLIENT_KINDS, ClientId } from './grants.ts'
import {
  IDENTITY_LINK_ORIGINS,
  IDENTITY_LINKINGS,
  IDENTITY_PROVIDER_STATES,
  isSubject,
  REFUSAL_REASONS,
  SUBJECT_MAX,
  TENANT_CLAIMS,
} from './identity-provider-states.ts'
import { Id } from './ids.ts'
import { BEARER_MAX, EXPOSED_MAX, IDENTITY_PROVIDER } from './limits.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput, pageInput, pageOutput } from './paging.ts'
import { RoleName } from './roles.ts'
import { RESOURCES, SENSITIVE_SCOPES } from './scopes.ts'

const ResourceName = z.enum(RESOURCES)

/** Compared byte for byte with `iss`, so it is neither trimmed nor normalized. */
const Issuer = z
  .string()
  .max(512)
  .refine(isIssuer, 'must be an https address without query, fragment or password')

function isIssuer(text: string): boolean {
  const url = /^https:\/\/[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null
  return url !== null && !/[?#\\]/.test(text) && url.username === '' && url.password === ''
}

/** The name of a claim; some are URLs. */
const ClaimName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9_.:/-]+$/, 'must be the name of a claim, such as groups')
const ClaimValue = z
  .string()
  .min(1)
  .max(300)
  .refine((text) => !/[\p{Cc}\p{Cs}]/u.test(text), 'must not contain control characters')

/** Longer ones are refused at the token endpoint too, but there with a reason of their own. */
const Assertion = z
  .string()
  .trim()
  .min(1)
  .max(2 * BEARER_MAX)
  .describe('An ID-JAG that your identity provider issued. It is neither stored nor logged.')

const Scopes = z.array(ScopeName).max(20)
const notSensitive = (scopes: readonly string[]) =>
  !scopes.some((scope) => (SENSITIVE_SCOPES as readonly string[]).includes(scope))

const provider = { service: 'auth-service', access: 'admin' } as const
/** Closed to support staff: what it opens outlasts their session. */
const changing = { ...provider, closedToSupport: true } as const
const path = '/api/v1/identity-provider'

const IdentityProvider = z.object({
  id: z.string(),
  name: z.string(),
  issuer: z.string(),
  tenant: z
    .object({ claim: z.string(), value: z.string() })
    .nullable()
    .describe('The claim that tells the organizations of a shared issuer apart; null: its own issuer.'),
  jwks_uri: z.string().describe('Where its keys are, as its metadata said when it was last activated.'),
  state: z.enum(IDENTITY_PROVIDER_STATES),
  linking: z
    .enum(IDENTITY_LINKINGS)
    .describe(
      'Who links people: `admin`; `member`, by the verified email address of a member; `domain`, also by joining in the domains of the organization.',
    ),
  default_scopes: z
    .array(ScopeName)
    .describe(
      'The most that somebody gets whom no rule matches, and what they get by an assertion that names no scopes.',
    ),
  assertion_seconds: z.int().describe('How long an assertion may be valid at most.'),
  token_minutes: z.int().describe('How long an access token is valid.'),
  is_required: z.boolean().describe('On: agents connect through it only, and approving one is refused.'),
  proven_by: z
    .object({ id: z.string(), name: z.string() })
    .nullable()
    .describe('The owner who proved that it is the organization’s.'),
  proven_at: Time.nullable().describe('null: not proven, or no longer.'),
  live_grants: z.int(),
  created_at: Time,
  last_used_at: Time.nullable(),
})

export const showIdentityProvider = reading({
  ...provider,
  name: 'showIdentityProvider',
  summary: 'Show the identity provider of the organization, and what to enter at it.',
  input: z.object({}),
  output: z.object({
    is_enabled: z.boolean().describe('Off: the operator turned it off for this installation.'),
    audience: z.string().describe('What `aud` of an assertion must be.'),
    resources: z
      .array(z.object({ resource: ResourceName, url: z.string() }))
      .describe('What `resource` of an assertion may be.'),
    identity_provider: IdentityProvider.nullable().describe('null: there is none.'),
  }),
  http: { method: 'get', path },
})

export const createIdentityProvider = creating({
  ...changing,
  name: 'createIdentityProvider',
  summary: 'Add the identity provider of the organization, as a draft. Its metadata is fetched.',
  input: z
    .object({
      name: DisplayName,
      issuer: Issuer,
      tenant_claim: z
        .enum(TENANT_CLAIMS)
        .optional()
        .describe('Of an issuer that several organizations share: the claim that tells them apart.'),
      tenant_value: ClaimValue.optional(),
    })
    .refine((input) => (input.tenant_claim === undefined) === (input.tenant_value === undefined), {
      path: ['tenant_value'],
      error: 'must be given together with tenant_claim',
    }),
  output: IdentityProvider,
  errors: ['CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path, success: 201 },
})

const CHECK_RESULTS = ['passed', 'failed', 'not_reached'] as const

export const probeIdentityProvider = reading({
  ...changing,
  name: 'probeIdentityProvider',
  summary:
    'Read the metadata and keys of the identity provider anew, and try an assertion. Nothing is stored.',
  input: z.object({ assertion: Assertion.optional() }),
  output: z.object({
    metadata: z.object({
      problem: z.string().nullable().describe('Why it could not be read; null: it could.'),
      jwks_uri: z.string().nullable(),
      is_pinned: z
        .boolean()
        .describe('False: keys are elsewhere now; an owner activates the provider again.'),
    }),
    keys: z
      .array(z.object({ kid: z.string().nullable(), kty: z.string(), alg: z.string().nullable() }))
      .describe('The keys that assertions can be signed with.'),
    keys_problem: z.string().nullable(),
    assertion: z
      .object({
        refusal: z.enum(REFUSAL_REASONS).nullable().describe('null: it would be accepted.'),
        checks: z.array(z.object({ check: z.enum(REFUSAL_REASONS), result: z.enum(CHECK_RESULTS) })),
        subject: z.string().nullable().describe('As it says; null: it cannot be read.'),
        client_id: z.string().nullable(),
        user: z.object({ id: z.string(), email: z.string(), name: z.string() }).nullable(),
      })
      .nullable()
      .describe('null: none was given.'),
  }),
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  http: { method: 'post', path: `${path}/probe` },
})

export const updateIdentityProvider = updating({
  ...changing,
  name: 'updateIdentityProvider',
  summary: 'Change, pause or resume the identity provider. Its agents connect again by themselves.',
  input: z.object({
    name: DisplayName.optional(),
    state: z.enum(['on', 'paused']).optional().describe('Once it was activated.'),
    linking: z.enum(IDENTITY_LINKINGS).optional(),
    default_scopes: Scopes.refine(
      notSensitive,
      `must not contain ${SENSITIVE_SCOPES.join(' or ')}`,
    ).optional(),
    assertion_seconds: z
      .int()
      .min(IDENTITY_PROVIDER.assertionSeconds.min)
      .max(IDENTITY_PROVIDER.assertionSeconds.max)
      .optional(),
    token_minutes: z
      .int()
      .min(IDENTITY_PROVIDER.tokenMinutes.min)
      .max(IDENTITY_PROVIDER.tokenMinutes.max)
      .optional(),
    is_required: z.boolean().optional().describe('Can be turned on once it was activated.'),
  }),
  output: IdentityProvider,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'patch', path },
})

export const activateIdentityProvider = updating({
  ...changing,
  name: 'activateIdentityProvider',
  summary:
    'Prove that the identity provider is the organization’s, with an assertion for yourself, and turn it on.',
  input: z.object({ assertion: Assertion }),
  output: IdentityProvider,
  access: 'owner',
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: `${path}/activate` },
})

export const deleteIdentityProvider = removing({
  ...changing,
  name: 'deleteIdentityProvider',
  summary: 'Remove the identity provider, with its clients, rules and links. Its agents are disconnected.',
  input: z.object({}),
  output: Nothing,
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path, success: 204 },
})

export const moveIdentityProvider = removing({
  name: 'moveIdentityProvider',
  summary:
    'Take an identity provider from the organization that has it on, so that another one can activate it.',
  service: 'auth-service',
  input: z.object({ issuer: Issuer, tenant_value: ClaimValue.optional() }),
  output: z.object({
    org_id: z.string().describe('The organization that had it.'),
    issuer: z.string(),
    tenant_value: z.string().nullable(),
    ended_grants: z.int(),
  }),
  access: 'operator',
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: '/api/v1/admin/identity-providers' },
})

const AllowedClient = z.object({
  client_id: z.string(),
  kind: z.enum(CLIENT_KINDS),
  name: z.string().nullable(),
  is_public: z.boolean().describe('It cannot prove who it is: it has neither a secret nor a key.'),
  may_be_public: z.boolean().describe('On: it may come without proving who it is.'),
  is_own: z.boolean().describe('The organization created it. Forbidding it deletes it.'),
  max_scopes: z.array(ScopeName),
  resources: z.array(ResourceName),
  live_grants: z.int(),
  created_at: Time,
  last_used_at: Time.nullable(),
})

export const listIdentityProviderClients = reading({
  ...provider,
  name: 'listIdentityProviderClients',
  summary: 'List the clients that may connect through the identity provider.',
  input: z.object({ ...pageInput }),
  output: z.object({ clients: z.array(AllowedClient), ...pageOutput }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: `${path}/clients` },
})

const clientTerms = {
  max_scopes: Scopes.min(1).describe(`Only owners may give ${SENSITIVE_SCOPES.join(' and ')}.`),
  resources: z.array(ResourceName).min(1).max(RESOURCES.length),
}

export const createIdentityProviderClient = creating({
  ...changing,
  name: 'createIdentityProviderClient',
  summary:
    'Create a client with a secret for the identity provider, and allow it. Its secret is returned once.',
  input: z.object({ name: DisplayName, ...clientTerms }),
  output: AllowedClient.extend({
    secret: z.string().describe('Returned once. It cannot be shown again.'),
    token_endpoint: z.string(),
    resource_urls: z.array(z.string()).describe('What the assistant may connect to.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: `${path}/clients`, success: 201 },
})

export const allowIdentityProviderClient = updating({
  ...changing,
  name: 'allowIdentityProviderClient',
  summary: 'Allow a client to connect through the identity provider, or change what it may have at most.',
  input: z.object({
    client_id: ClientId.describe('A registered id, or the URL of a metadata document, which is fetched.'),
    may_be_public: z.boolean().default(false),
    ...clientTerms,
  }),
  output: AllowedClient,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'put', path: `${path}/clients` },
})

export const forbidIdentityProviderClient = removing({
  ...changing,
  name: 'forbidIdentityProviderClient',
  summary: 'Forbid a client to connect through the identity provider. Its agents are disconnected.',
  input: z.object({ client_id: ClientId }),
  output: Nothing,
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: `${path}/clients`, success: 204 },
})

const ruleFields = {
  claim: ClaimName.nullable().describe('Such as groups; null: everybody.'),
  value: ClaimValue.nullable().describe('What the claim is, or contains; null with everybody.'),
  scopes: Scopes.describe('None: whoever it matches is refused.'),
}

const Rule = z.object({
  ...ruleFields,
  sources: z
    .array(SourceId)
    .max(EXPOSED_MAX)
    .nullable()
    .default(null)
    .describe('The data sources it is limited to; null: all that the person may query.'),
})
const RuleList = z
  .array(
    Rule.refine((rule) => (rule.claim === null) === (rule.value === null), {
      path: ['value'],
      error: 'must be given together with claim',
    }),
  )
  .max(IDENTITY_PROVIDER.rules)

const ShownRule = z.object({
  position: z.int().describe('From 1. The first that matches decides.'),
  ...ruleFields,
  sources: z
    .array(z.object({ id: z.string(), source_id: z.string(), name: z.string() }))
    .nullable()
    .describe(
      'The data sources it is limited to, of those you may see; null: all that the person may query.',
    ),
})

export const listIdentityProviderRules = reading({
  ...provider,
  name: 'listIdentityProviderRules',
  summary: 'List the rules of the identity provider, in their order.',
  input: z.object({ ...pageInput }),
  output: z.object({ rules: z.array(ShownRule), ...pageOutput }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: `${path}/rules` },
})

export const setIdentityProviderRules = updating({
  ...changing,
  name: 'setIdentityProviderRules',
  summary:
    'Replace the rules of the identity provider. Its agents are disconnected, and connect again by themselves.',
  input: z.object({
    rules: RuleList.describe(`Only owners may give ${SENSITIVE_SCOPES.join(' and ')}.`),
  }),
  output: z.object({ rules: z.array(ShownRule) }),
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: `${path}/rules` },
})

export const previewIdentityProviderRules = reading({
  ...provider,
  name: 'previewIdentityProviderRules',
  summary: 'Preview what a member would get with a client, and by which rule.',
  input: z.object({
    user_id: Id('usr'),
    client_id: ClientId,
    resource: ResourceName.default('platform'),
    claims: z
      .record(ClaimName, z.union([ClaimValue, z.array(ClaimValue).max(500)]))
      .default({})
      .describe('As the assertion would have them, such as {"groups": ["engineering"]}.'),
    scopes: Scopes.optional().describe('Those that are asked for; left out: all that it may have.'),
    rules: RuleList.optional().describe('Rules that are not saved yet; left out: the saved ones.'),
  }),
  output: z.object({
    role: RoleName,
    refusal: z.enum(REFUSAL_REASONS).nullable().describe('null: they would be connected.'),
    position: z
      .int()
      .nullable()
      .describe('Of the rule that decides; null: none matches, the default scopes apply.'),
    scopes: z.array(ScopeName),
    sources: ShownRule.shape.sources,
  }),
  errors: ['NOT_FOUND'],
  http: { method: 'post', path: `${path}/rules/preview` },
})

const Subject = z.string().min(1).max(SUBJECT_MAX).refine(isSubject, 'must not contain control characters')

const IdentityLink = z.object({
  id: z.string(),
  subject: z.string().describe('`sub` at the identity provider.'),
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  linked_by: z.enum(IDENTITY_LINK_ORIGINS),
  created_at: Time,
  last_used_at: Time.nullable(),
})

export const listIdentityLinks = reading({
  ...provider,
  name: 'listIdentityLinks',
  summary: 'List who the subjects of the identity provider are.',
  input: z.object({
    search: z
      .string()
      .trim()
      .max(120)
      .optional()
      .describe('Part of the subject, or of the name or email address.'),
    ...countedPageInput,
  }),
  output: z.object({ links: z.array(IdentityLink), ...countedPageOutput }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: `${path}/links` },
})

export const linkIdentity = creating({
  ...changing,
  name: 'linkIdentity',
  summary: 'Link a subject of the identity provider to a member whose role is not above yours.',
  input: z.object({ subject: Subject, user_id: Id('usr') }),
  output: IdentityLink,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: `${path}/links`, success: 201 },
})

export const unlinkIdentity = removing({
  ...changing,
  name: 'unlinkIdentity',
  summary: 'Remove the link of a subject. The agents it connected are disconnected.',
  input: z.object({ link_id: Id('idl') }),
  output: Nothing,
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: `${path}/links/{link_id}`, success: 204 },
})

const Refusal = z.object({
  id: z.string(),
  at: Time,
  reason: z.enum(REFUSAL_REASONS),
  client_id: z.string().nullable(),
  subject: z.string().nullable().describe('As the assertion said, unverified.'),
  key_id: z.string().nullable().describe('`kid`, unverified.'),
})

export const listRefusals = reading({
  ...provider,
  name: 'listRefusals',
  summary: 'List the assertions of the identity provider that were refused, newest first.',
  input: z.object({
    reason: z.enum(REFUSAL_REASONS).optional(),
    client_id: ClientId.optional(),
    ...countedPageInput,
  }),
  output: z.object({ refusals: z.array(Refusal), ...countedPageOutput }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: `${path}/refusals` },
})

export const endEnterpriseGrants = removing({
  ...changing,
  name: 'endEnterpriseGrants',
  summary: 'Disconnect every agent that connected through the identity provider.',
  input: z.object({}),
  output: z.object({ ended: z.int() }),
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: `${path}/grants` },
})
