/** Closed lists of the identity provider of an organization. Plain constants: the client `svc` loads this file and no zod. */

/** `draft` until an owner has proven that it is theirs. */
export const IDENTITY_PROVIDER_STATES = ['draft', 'on', 'paused'] as const
export type IdentityProviderState = (typeof IDENTITY_PROVIDER_STATES)[number]

/** What members are told of it. One that is required is so in every state: while it is not on, nobody connects. */
export const IDENTITY_PROVIDER_USES = ['none', 'on', 'required'] as const
export type IdentityProviderUse = (typeof IDENTITY_PROVIDER_USES)[number]

/**
 * Who links a subject of the provider to an account: an admin; its verified address, to a member who has it; or, in the
 * domains of the organization, also to an account that is made for it.
 */
export const IDENTITY_LINKINGS = ['admin', 'member', 'domain'] as const
export type IdentityLinking = (typeof IDENTITY_LINKINGS)[number]

/** How a link came about. */
export const IDENTITY_LINK_ORIGINS = ['admin', 'email', 'domain', 'proof'] as const
export type IdentityLinkOrigin = (typeof IDENTITY_LINK_ORIGINS)[number]

/** Why an assertion was refused, in the order of the checks. For administrators: the client is told none of it. */
export const REFUSALS = {
  malformed: 'It is not a signed JWT of at most 8 KB',
  type: 'Its type is not oauth-id-jag+jwt',
  algorithm: 'It is signed with an algorithm that is not accepted',
  issuer: 'It is not from this issuer, compared letter by letter',
  paused: 'The identity provider is not on',
  key: 'The identity provider has no such key, or its keys could not be read',
  signature: 'Its signature is not valid',
  audience: 'Its audience is not this server, exactly as shown here',
  expired: 'It has expired',
  not_yet_valid: 'It is valid only later; compare the clocks',
  lifetime: 'It is valid for longer than you allow',
  tenant: 'It is of another tenant',
  audience_tenant: 'It names another organization',
  client: 'It was issued to another client',
  client_not_allowed: 'The client is not on your list',
  client_public: 'The client did not prove who it is, and may not come without',
  proof_of_possession: 'It is bound to a key of the client, which is not supported',
  claims: 'A claim is missing, or cannot be used',
  not_linked: 'Nobody is linked to this subject',
  email_unverified: 'It vouches for no verified address',
  email_unknown: 'No member has this address, and its domain is not yours',
  subject_changed: 'The member with this address is linked to another subject',
  not_a_member: 'The person is not a member',
  agents_off: 'Agents are turned off',
  client_blocked: 'The client is blocked',
  resource: 'It is for another endpoint, or one the client may not use',
  rule: 'A rule refuses them',
  scope: 'Rules, role, client and assertion have no scope in common',
  replayed: 'It was used before',
} as const
export type RefusalReason = keyof typeof REFUSALS
export const REFUSAL_REASONS = Object.keys(REFUSALS) as [RefusalReason, ...RefusalReason[]]

/** The claims that tell the organizations of a shared issuer apart. Any other could be true of everybody. */
export const TENANT_CLAIMS = ['tid', 'hd', 'tenant', 'tenant_id', 'org_id', 'organization_id'] as const

/** OpenID Connect Core, 2: at most 255 characters. */
export const SUBJECT_MAX = 255

/** People compare subjects by eye, in links and in the audit log: nothing that hides, or turns words around. */
export const isSubject = (text: string): boolean =>
  text !== '' && text.length <= SUBJECT_MAX && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text)
