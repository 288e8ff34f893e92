/** Enterprise: the identity provider that an organization trusts, what comes in by it, and machine agents. */
import type {
  IdentityLinking,
  IdentityLinkOrigin,
  IdentityProviderState,
  RefusalReason,
} from '../../src/contracts/identity-provider-states.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import type { GrantableRole } from '../../src/contracts/roles.ts'
import type { Resource, Scope } from '../../src/contracts/scopes.ts'
import { boolean, index, integer, jsonb, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import { instant, keyEpoch, orgId, secretHash } from './columns.ts'
import { users } from './identity.ts'
import { organizations } from './organizations.ts'

/** One for an organization. Issuer and tenant never change: what was linked under them would mean somebody else. */
export const organizationIdentityProviders = pgTable(
  'organization_identity_providers',
  {
    id: text('id').primaryKey(),
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    issuer: text('issuer').notNull(),
    /** Of an issuer that many share: the claim that tells them apart, and its value; both empty for one of their own. */
    tenantClaim: text('tenant_claim').notNull().default(''),
    tenantValue: text('tenant_value').notNull().default(''),
    /** Pinned: an assertion's own header never says where keys are. */
    jwksUri: text('jwks_uri').notNull(),
    state: text('state').$type<IdentityProviderState>().notNull(),
    linking: text('linking').$type<IdentityLinking>().notNull().default('admin'),
    /** Of assertions that carry no scope claim and match no rule with scopes of its own. */
    defaultScopes: text('default_scopes').array().$type<Scope[]>().notNull(),
    /** At most this long from iat to exp. */
    assertionSeconds: integer('assertion_seconds').notNull(),
    tokenMinutes: integer('token_minutes').notNull(),
    /** Agents of the organization come in by it alone; consent is refused, and grants by consent are not live. */
    isRequired: boolean('is_required').notNull().default(false),
    /** Another after each change that may narrow what comes in by it: what was decided under an earlier one is not stored. */
    edition: integer('edition').notNull().default(1),
    provenBy: text('proven_by').references(() => users.id, { onDelete: 'set null' }),
    provenAt: instant('proven_at'),
    /** Of the address that proved it: the proof ends when the organization loses it. */
    provenDomain: text('proven_domain'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [
    uniqueIndex('organization_identity_providers_by_org').on(t.orgId),
    // Over all organizations: an assertion leads to one of them.
    uniqueIndex('organization_identity_providers_by_issuer')
      .on(t.issuer, t.tenantValue)
      .where(sql`state = 'on'`),
  ],
)

/** The clients that may come in by it. */
export const identityProviderClients = pgTable(
  'identity_provider_clients',
  {
    providerId: text('provider_id')
      .notNull()
      .references(() => organizationIdentityProviders.id, { onDelete: 'cascade' }),
    /** No foreign key: metadata-document clients have no row. */
    clientId: text('client_id').notNull(),
    kind: text('kind').$type<ClientKind>().notNull(),
    name: text('name'),
    /** Whether it may come without proving who it is. */
    mayBePublic: boolean('may_be_public').notNull().default(false),
    maxScopes: text('max_scopes').array().$type<Scope[]>().notNull(),
    resources: text('resources').array().$type<Resource[]>().notNull(),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [
    primaryKey({ columns: [t.providerId, t.clientId] }),
    // Whether a client is on any list at all is asked before its assertion is read.
    index('identity_provider_clients_by_client').on(t.clientId),
  ],
)

/** Who gets what; the first that matches decides. */
export const identityProviderRules = pgTable(
  'identity_provider_rules',
  {
    providerId: text('provider_id')
      .notNull()
      .references(() => organizationIdentityProviders.id, { onDelete: 'cascade' }),
    position: integer('position').notNull(),
    /** Null: everybody. */
    claim: text('claim'),
    value: text('value'),
    /** Empty: they are refused. */
    scopes: text('scopes').array().$type<Scope[]>().notNull(),
    /** Ids of data sources; null: all that the person may query. */
    sources: text('sources').array(),
  },
  (t) => [primaryKey({ columns: [t.providerId, t.position] })],
)

/** Who a subject of the provider is here. It never moves by itself. */
export const identityLinks = pgTable(
  'identity_links',
  {
    id: text('id').primaryKey(),
    providerId: text('provider_id')
      .notNull()
      .references(() => organizationIdentityProviders.id, { onDelete: 'cascade' }),
    subject: text('subject').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    linkedBy: text('linked_by').$type<IdentityLinkOrigin>().notNull(),
    /** Who linked it by hand; null also where that was before it was stored. */
    createdBy: text('created_by'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [
    uniqueIndex('identity_links_by_subject').on(t.providerId, t.subject),
    index('identity_links_by_user').on(t.userId),
  ],
)

/** Which assertions were used, as keyed hashes of issuer, tenant and jti, until they expire. */
export const assertionUses = pgTable(
  'assertion_uses',
  {
    id: secretHash('id').primaryKey(),
    /** No foreign key: removing a provider and adding it again must not make them good again. */
    providerId: text('provider_id').notNull(),
    clientId: text('client_id').notNull(),
    /** Empty: it proved the provider, and there is no grant. */
    grantId: text('grant_id').notNull(),
    usedAt: instant('used_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('assertion_uses_by_expiry').on(t.expiresAt)],
)

/** Why assertions of a trusted issuer were refused, for its administrators. */
export const assertionRefusals = pgTable(
  'assertion_refusals',
  {
    id: text('id').primaryKey(),
    providerId: text('provider_id')
      .notNull()
      .references(() => organizationIdentityProviders.id, { onDelete: 'cascade' }),
    clientId: text('client_id'),
    reason: text('reason').$type<RefusalReason>().notNull(),
    subject: text('subject'),
    keyId: text('key_id'),
    refusedAt: instant('refused_at').notNull(),
  },
  (t) => [index('assertion_refusals_by_provider').on(t.providerId, t.id)],
)

/** An agent without a person: a user that cannot sign in and is no member, a client, and a standing grant. */
export const machineAgents = pgTable(
  'machine_agents',
  {
    id: text('id').primaryKey(),
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    /** Whose activity it is. */
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    clientId: text('client_id').notNull(),
    /** The member who answers for it: it may never do more than they, and not go on without them. */
    ownerId: text('owner_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Of the owner: whoever comes back after they left is a new member, and it does not go on by itself. */
    ownerMembershipId: text('owner_membership_id').notNull(),
    name: text('name').notNull(),
    role: text('role').$type<GrantableRole>().notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    removedAt: instant('removed_at'),
  },
  (t) => [
    index('machine_agents_by_org').on(t.orgId, t.id),
    uniqueIndex('machine_agents_by_client').on(t.clientId),
    uniqueIndex('machine_agents_by_user').on(t.userId),
    index('machine_agents_by_owner').on(t.ownerId),
  ],
)

/** How a machine agent proves itself: secrets as hashes, or public keys. */
export const machineAgentCredentials = pgTable(
  'machine_agent_credentials',
  {
    id: text('id').primaryKey(),
    agentId: text('agent_id')
      .notNull()
      .references(() => machineAgents.id, { onDelete: 'cascade' }),
    kind: text('kind').$type<'secret' | 'public_key'>().notNull(),
    secretHash: secretHash('secret_hash'),
    startsWith: text('starts_with'),
    publicKey: jsonb('public_key').$type<Record<string, unknown>>(),
    keyEpoch: keyEpoch(),
    createdBy: text('created_by').references(() => users.id, { onDelete: 'set null' }),
    /** It ends with the API token that it was made with. */
    madeWithTokenId: text('made_with_token_id'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
    /** Null: with its agent. */
    expiresAt: instant('expires_at'),
    /** The one that it was rotated to: until its expiry both are good. */
    replacedBy: text('replaced_by'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    index('machine_agent_credentials_by_agent').on(t.agentId, t.id),
    index('machine_agent_credentials_by_creator').on(t.createdBy),
    index('machine_agent_credentials_by_token').on(t.madeWithTokenId),
  ],
)
