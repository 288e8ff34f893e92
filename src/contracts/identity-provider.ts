/** The identity provider that vouches for the members of an organization, and what assistants get by it. */
import * as z from 'zod'
import { SourceId } from './data-sources.ts'
import { field } from './field.ts'
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
import { SignInProvider } from './scim.ts'
import { RESOURCES, SENSITIVE_SCOPES } from './scopes.ts'

const ResourceName = z.enum(RESOURCES)
const MemberId = field(Id('usr'), { client: 'usr_…, of a member' })

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
const Assertion = field(
  z
    .string()
    .trim()
    .min(1)
    .max(2 * BEARER_MAX)
    .describe('An ID-JAG that your identity provider issued. It is neither stored nor logged.'),
  {
    rows: 4,
    example: 'eyJ0eXAiOiJvYXV0aC1pZC1qYWcrand0Ii…',
    isSecret: true,
    client: { value: 'file', summary: 'File with an assertion, or - for stdin', file: 'the assertion' },
  },
)

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

const PROVIDER_FIELDS =
  "id, name, state, issuer, tenant={tenant.claim}={tenant.value}?, linking, default_scopes:words|'none', token_minutes, assertion_seconds, required=is_required, agents=live_grants, last_used_at"

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
    sign_in: z
      .object({
        password: z.boolean().describe('Whether people can sign in with a password.'),
        providers: z.array(SignInProvider).describe('Sign-in providers of this installation.'),
      })
      .describe('How people sign in here themselves. The operator configures it.'),
  }),
  command: {
    path: 'agents provider',
    summary: 'Show the identity provider, and what to enter at it (admin or higher)',
    examples: ['svc agents provider'],
  },
  http: { method: 'get', path },
})

export const createIdentityProvider = creating({
  ...changing,
  name: 'createIdentityProvider',
  summary: 'Add the identity provider of the organization, as a draft. Its metadata is fetched.',
  input: z
    .object({
      name: field(DisplayName, { example: 'Okta', client: 'Display name (default: the host)' }),
      issuer: field(Issuer, {
        hint: 'Exactly as its metadata has it, usually without a slash at the end.',
        example: 'https://acme.okta.com',
        client: 'Exactly as its metadata has it',
      }),
      tenant_claim: field(z.enum(TENANT_CLAIMS), { label: 'Claim' })
        .optional()
        .describe('Of an issuer that several organizations share: the claim that tells them apart.'),
      tenant_value: field(ClaimValue, { label: 'Your value', client: 'Your value of that claim' }).optional(),
    })
    .refine((input) => (input.tenant_claim === undefined) === (input.tenant_value === undefined), {
      path: ['tenant_value'],
      error: 'must be given together with tenant_claim',
    }),
  output: IdentityProvider,
  errors: ['CONFLICT', 'RATE_LIMITED'],
  command: {
    path: 'agents provider add',
    summary: 'Add the identity provider, as a draft (admin or higher)',
    arguments: ['issuer'],
    fields: PROVIDER_FIELDS,
    notes: ['It is a draft. An owner turns it on with `svc agents provider activate`.'],
    examples: ['svc agents provider add https://idp.example.com --name "Corporate sign-in"'],
  },
  http: { method: 'post', path, success: 201 },
})

const CHECK_RESULTS = ['passed', 'failed', 'not_reached'] as const

export const probeIdentityProvider = reading({
  ...changing,
  name: 'probeIdentityProvider',
  summary:
    'Read the metadata and keys of the identity provider anew, and try an assertion. Nothing is stored.',
  input: z.object({
    assertion: field(Assertion.optional(), {
      hint: 'An ID-JAG that the provider issued. It is neither stored nor used up. Leave it empty to check the keys only.',
    }),
  }),
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
  command: {
    path: 'agents provider probe',
    summary: 'Read its metadata and keys, and try an assertion (admin or higher)',
    examples: ['svc agents provider probe', 'svc agents provider probe --assertion assertion.jwt'],
  },
  http: { method: 'post', path: `${path}/probe` },
})

const { assertionSeconds, tokenMinutes } = IDENTITY_PROVIDER

export const updateIdentityProvider = updating({
  ...changing,
  name: 'updateIdentityProvider',
  summary: 'Change, pause or resume the identity provider. Its agents connect again by themselves.',
  input: z.object({
    name: DisplayName.optional(),
    state: z.enum(['on', 'paused']).optional().describe('Once it was activated.'),
    linking: field(z.enum(IDENTITY_LINKINGS).optional(), {
      client: { value: 'who', summary: 'Who links people' },
    }),
    default_scopes: field(
      Scopes.refine(notSensitive, `must not contain ${SENSITIVE_SCOPES.join(' or ')}`).optional(),
      {
        client: {
          summary: 'Scope where no rule decides',
          not: { flag: 'no-default-scopes', summary: 'None where no rule decides' },
        },
      },
    ),
    assertion_seconds: field(z.int().min(assertionSeconds.min).max(assertionSeconds.max), {
      label: 'Seconds an assertion is valid',
      hint: `${assertionSeconds.min} to ${assertionSeconds.max}. Longer ones are refused.`,
      client: 'Validity of assertions at most',
    }).optional(),
    token_minutes: field(z.int().min(tokenMinutes.min).max(tokenMinutes.max), {
      label: 'Minutes a token is valid',
      hint: `${tokenMinutes.min} to ${tokenMinutes.max}. Somebody removed at the provider keeps access that long.`,
      client: 'Validity of access tokens',
    }).optional(),
    is_required: field(z.boolean().optional().describe('Can be turned on once it was activated.'), {
      client: {
        flag: 'required',
        summary: 'Let agents connect through it only',
        not: { flag: 'not-required', summary: 'Let members approve agents, too' },
      },
    }),
  }),
  output: IdentityProvider,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: [
    {
      path: 'agents provider update',
      summary: 'Change the identity provider (admin or higher)',
      options: ['name', 'linking', 'default_scopes', 'token_minutes', 'assertion_seconds', 'is_required'],
      atLeastOne: { problem: 'Nothing to change', hint: 'Add an option, such as --linking member' },
      fields: PROVIDER_FIELDS,
      examples: ['svc agents provider update --linking member --required'],
    },
    {
      path: 'agents provider pause',
      summary: 'Pause the identity provider and disconnect its agents (admin or higher)',
      always: { state: 'paused' },
      confirm: 'This disconnects every agent of the identity provider until it is resumed.',
      fields: PROVIDER_FIELDS,
      examples: ['svc agents provider pause --yes'],
    },
    {
      path: 'agents provider resume',
      summary: 'Resume the identity provider (admin or higher)',
      always: { state: 'on' },
      fields: PROVIDER_FIELDS,
      examples: ['svc agents provider resume'],
    },
  ],
  http: { method: 'patch', path },
})

export const activateIdentityProvider = updating({
  ...changing,
  name: 'activateIdentityProvider',
  summary:
    'Prove that the identity provider is the organization’s, with an assertion for yourself, and turn it on.',
  input: z.object({
    assertion: field(Assertion, {
      hint: 'An ID-JAG for yourself.',
      client: { summary: 'File with an assertion for yourself, or - for stdin', file: 'the assertion' },
    }),
  }),
  output: IdentityProvider,
  access: 'owner',
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  closedToCliSessions: true,
  command: {
    path: 'agents provider activate',
    summary: 'Prove that it is yours, and turn it on (owner)',
    arguments: ['assertion'],
    fields: PROVIDER_FIELDS,
    examples: ['svc agents provider activate assertion.jwt'],
  },
  http: { method: 'post', path: `${path}/activate` },
})

export const deleteIdentityProvider = removing({
  ...changing,
  name: 'deleteIdentityProvider',
  summary: 'Remove the identity provider, with its clients, rules and links. Its agents are disconnected.',
  input: z.object({}),
  output: Nothing,
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents provider remove',
    summary: 'Remove the identity provider and disconnect its agents (admin or higher)',
    confirm:
      'This removes the identity provider with its clients, rules and links, and disconnects its agents.',
    done: 'Removed the identity provider',
    examples: ['svc agents provider remove --yes'],
  },
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

const CLIENT_TABLE =
  'client_id, kind, name, SCOPES=max_scopes:words, ENDPOINTS=resources:words, PUBLIC=may_be_public, GRANTS=live_grants, last_used_at'

export const listIdentityProviderClients = reading({
  ...provider,
  name: 'listIdentityProviderClients',
  summary: 'List the clients that may connect through the identity provider.',
  input: z.object({ ...pageInput }),
  output: z.object({ clients: z.array(AllowedClient), ...pageOutput }),
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents provider clients',
    summary: 'List the clients that may connect through it (admin or higher)',
    table: CLIENT_TABLE,
    examples: ['svc agents provider clients'],
  },
  http: { method: 'get', path: `${path}/clients` },
})

const clientTerms = {
  max_scopes: field(Scopes.min(1).describe(`Only owners may give ${SENSITIVE_SCOPES.join(' and ')}.`), {
    client: {
      flag: 'scope',
      summary: 'Scope it may have',
      missing: { problem: 'Nothing that it may have', hint: 'Add --scope, such as --scope data:read' },
    },
  }),
  resources: field(z.array(ResourceName).min(1).max(RESOURCES.length), {
    client: {
      flag: 'endpoint',
      value: 'name',
      summary: 'Endpoint it may use (default platform)',
      default: ['platform'],
    },
  }),
}

export const createIdentityProviderClient = creating({
  ...changing,
  name: 'createIdentityProviderClient',
  summary:
    'Create a client with a secret for the identity provider, and allow it. Its secret is returned once.',
  input: z.object({
    name: field(DisplayName, {
      hint: 'Shown among the connected agents.',
      example: 'Claude',
      client: 'Name of the assistant',
    }),
    ...clientTerms,
  }),
  output: AllowedClient.extend({
    secret: z.string().describe('Returned once. It cannot be shown again.'),
    token_endpoint: z.string(),
    resource_urls: z.array(z.string()).describe('What the assistant may connect to.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  command: {
    path: 'agents provider create-client',
    summary: 'Create a client with a secret, and allow it (admin or higher)',
    arguments: ['name'],
    fields: 'client_id, secret, token_endpoint, resource=resource_urls:words',
    notes: ['Store the secret now: it is not shown again.'],
    examples: ['svc agents provider create-client Claude --scope data:read --scope maintenance:read'],
  },
  http: { method: 'post', path: `${path}/clients`, success: 201 },
})

export const allowIdentityProviderClient = updating({
  ...changing,
  name: 'allowIdentityProviderClient',
  summary: 'Allow a client to connect through the identity provider, or change what it may have at most.',
  input: z.object({
    client_id: field(ClientId, {
      label: 'Client ID',
      hint: 'The address of its metadata document, which is fetched, or the ID that the operator registered.',
      example: 'https://assistant.example/client.json',
      client: 'Registered id, or URL of a metadata document',
    }).describe('A registered id, or the URL of a metadata document, which is fetched.'),
    may_be_public: field(z.boolean(), {
      label: 'It may connect without a secret or key',
      hint: 'Whoever gets hold of an assertion for it can then use it. Allow this only for clients that cannot do otherwise.',
      client: { flag: 'public', summary: 'Also without proof of who it is' },
    }).default(false),
    ...clientTerms,
  }),
  output: AllowedClient,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  closedToCliSessions: true,
  command: {
    path: 'agents provider allow',
    summary: 'Allow a client, or change what it may have (admin or higher)',
    arguments: ['client_id'],
    options: ['max_scopes', 'resources', 'may_be_public'],
    table: CLIENT_TABLE,
    notes: [
      {
        if: 'is_public !may_be_public',
        text: 'It cannot prove who it is, so it is refused until you allow it with --public.',
      },
    ],
    examples: ['svc agents provider allow https://assistant.example.com/client.json --scope data:read'],
  },
  http: { method: 'put', path: `${path}/clients` },
})

export const forbidIdentityProviderClient = removing({
  ...changing,
  name: 'forbidIdentityProviderClient',
  summary: 'Forbid a client to connect through the identity provider. Its agents are disconnected.',
  input: z.object({ client_id: ClientId }),
  output: Nothing,
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents provider forbid',
    summary: 'Forbid a client and disconnect its agents (admin or higher)',
    arguments: ['client_id'],
    confirm: 'This forbids {client_id} and disconnects its agents.',
    done: 'Forbade {client_id}',
    listedBy: 'agents provider clients',
    examples: ['svc agents provider forbid https://assistant.example.com/client.json --yes'],
  },
  http: { method: 'delete', path: `${path}/clients`, success: 204 },
})

const ruleFields = {
  claim: ClaimName.nullable().describe('Such as groups; null: everybody.'),
  value: field(ClaimValue, {
    label: 'Is or contains',
    hint: 'Capital letters count.',
    example: 'engineering',
  })
    .nullable()
    .describe('What the claim is, or contains; null with everybody.'),
  scopes: Scopes.describe('None: whoever it matches is refused.'),
}

export const RuleFields = z.object(ruleFields)

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

const RULE_TABLE = "RULE=position, claim|'everybody', value, scopes:words|'refused', sources:sources"

export const listIdentityProviderRules = reading({
  ...provider,
  name: 'listIdentityProviderRules',
  summary: 'List the rules of the identity provider, in their order.',
  input: z.object({ ...pageInput }),
  output: z.object({ rules: z.array(ShownRule), ...pageOutput }),
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents provider rules',
    summary: 'List the rules: who gets what (admin or higher)',
    table: RULE_TABLE,
    examples: ['svc agents provider rules --json'],
  },
  http: { method: 'get', path: `${path}/rules` },
})

export const setIdentityProviderRules = updating({
  ...changing,
  name: 'setIdentityProviderRules',
  summary:
    'Replace the rules of the identity provider. Its agents are disconnected, and connect again by themselves.',
  input: z.object({
    rules: field(RuleList.describe(`Only owners may give ${SENSITIVE_SCOPES.join(' and ')}.`), {
      client: { flag: 'file', summary: 'JSON list of rules, or - for stdin' },
    }),
  }),
  output: z.object({ rules: z.array(ShownRule) }),
  errors: ['NOT_FOUND'],
  closedToCliSessions: true,
  command: {
    path: 'agents provider set-rules',
    summary: 'Replace the rules; the first that matches decides (admin or higher)',
    arguments: ['rules'],
    table: RULE_TABLE,
    rows: 'rules',
    examples: ['svc agents provider set-rules rules.json --yes'],
  },
  http: { method: 'put', path: `${path}/rules` },
})

export const previewIdentityProviderRules = reading({
  ...provider,
  name: 'previewIdentityProviderRules',
  summary: 'Preview what a member would get with a client, and by which rule.',
  input: z.object({
    user_id: MemberId,
    client_id: field(ClientId, { client: 'From `svc agents provider clients`' }),
    resource: field(ResourceName.default('platform'), {
      client: { flag: 'endpoint', value: 'name', summary: 'Endpoint' },
    }),
    claims: field(z.record(ClaimName, z.union([ClaimValue, z.array(ClaimValue).max(500)])), {
      hint: 'One a line, as the assertion would have them. Repeat the name for a list.',
      example: 'groups=engineering',
      rows: 3,
      maxLength: 10_000,
      client: { flag: 'claim', summary: 'Claim of the assertion' },
    })
      .default({})
      .describe('As the assertion would have them, such as {"groups": ["engineering"]}.'),
    scopes: field(Scopes.optional().describe('Those that are asked for; left out: all that it may have.'), {
      client: 'Scope that is asked for (default: all)',
    }),
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
  command: {
    path: 'agents provider preview',
    summary: 'Preview what a member would get (admin or higher)',
    arguments: ['user_id', 'client_id'],
    options: ['claims', 'scopes', 'resource'],
    examples: [
      'svc agents provider preview usr_01k3v5j8e2q4r6t8w0y2a4c6e8 desk-assistant --claim groups=engineering',
    ],
  },
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

const LINK_TABLE = 'LINK=id, subject, user.email, BY=linked_by, last_used_at'

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
  command: {
    path: 'agents provider links',
    summary: 'List who its subjects are (admin or higher)',
    table: LINK_TABLE,
    examples: ['svc agents provider links --search ada'],
  },
  http: { method: 'get', path: `${path}/links` },
})

export const linkIdentity = creating({
  ...changing,
  name: 'linkIdentity',
  summary: 'Link a subject of the identity provider to a member whose role is not above yours.',
  input: z.object({
    subject: field(Subject, { client: '`sub` at the identity provider' }),
    user_id: MemberId,
  }),
  output: IdentityLink,
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  command: {
    path: 'agents provider link',
    summary: 'Link a subject to a member (admin or higher)',
    arguments: ['subject', 'user_id'],
    table: LINK_TABLE,
    examples: ['svc agents provider link 00u1a2b3 usr_01k3v5j8e2q4r6t8w0y2a4c6e8'],
  },
  http: { method: 'post', path: `${path}/links`, success: 201 },
})

export const unlinkIdentity = removing({
  ...changing,
  name: 'unlinkIdentity',
  summary: 'Remove the link of a subject. The agents it connected are disconnected.',
  input: z.object({ link_id: Id('idl') }),
  output: Nothing,
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents provider unlink',
    summary: 'Remove a link and disconnect its agents (admin or higher)',
    confirm: 'This removes {link_id} and disconnects the agents of its person.',
    done: 'Removed {link_id}',
    examples: ['svc agents provider unlink idl_01k3v5j8e2q4r6t8w0y2a4c6e8 --yes'],
  },
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
  command: {
    path: 'agents provider refusals',
    summary: 'List refused assertions, newest first (admin or higher)',
    table: 'TIME=at, reason, WHY=reason:refusal, client_id, subject, key_id',
    examples: ['svc agents provider refusals --reason audience'],
  },
  http: { method: 'get', path: `${path}/refusals` },
})

export const endEnterpriseGrants = removing({
  ...changing,
  name: 'endEnterpriseGrants',
  summary: 'Disconnect every agent that connected through the identity provider.',
  input: z.object({}),
  output: z.object({ ended: z.int() }),
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents provider disconnect',
    summary: 'Disconnect every agent of the identity provider (admin or higher)',
    confirm: 'This disconnects every agent of the identity provider. They can connect again.',
    done: 'Disconnected {ended:agents}',
    examples: ['svc agents provider disconnect --yes'],
  },
  http: { method: 'delete', path: `${path}/grants` },
})
