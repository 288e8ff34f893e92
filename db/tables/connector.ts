/** The connector: clients, grants, short-lived artifacts. The first two keep the names the contract gives them. */
import type { ClientKind, GrantVia } from '../../src/contracts/grants.ts'
import type { Scope } from '../../src/contracts/scopes.ts'
import { boolean, index, integer, jsonb, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import { carriesAppRoles, instant, orgId, roleCap, secretHash } from './columns.ts'
import { organizations } from './organizations.ts'
import { users } from './identity.ts'

/**
 * Pre-registered and dynamically registered clients. A metadata URL has a row only to be blocked, and an operator may
 * insert that one by hand with `client_id` and `is_active` alone: hence the defaults.
 */
export const platformOauthClients = pgTable(
  'platform_oauth_clients',
  {
    clientId: text('client_id').primaryKey(),
    kind: text('kind').$type<ClientKind>().notNull().default('metadata_document'),
    isActive: boolean('is_active').notNull().default(true),
    /** The organization that made it for its identity provider, and the only one that knows it; null: the operator's. */
    orgId: text('org_id').references(() => organizations.id, { onDelete: 'cascade' }),
    metadata: jsonb('metadata').$type<Record<string, unknown>>().notNull().default({}),
    /** Whom a dynamic registration counts against: five per origin. */
    originKey: text('origin_key'),
    /** The network address that registered it: twenty per address. */
    registeredFrom: text('registered_from'),
    /** Digest of what was registered: the same public registration gets the same client id. */
    registrationHash: text('registration_hash'),
    createdAt: instant('created_at').notNull().defaultNow(),
    lastUsedAt: instant('last_used_at'),
    expiresAt: instant('expires_at'),
  },
  (t) => [
    index('platform_oauth_clients_dynamic').on(t.kind, t.isActive, t.expiresAt),
    index('platform_oauth_clients_by_registration').on(t.registrationHash),
    index('platform_oauth_clients_by_org').on(t.orgId),
  ],
)

/** One row per approval. Revoking stamps it; a row that is gone is as dead. */
export const platformAccessGrants = pgTable(
  'platform_access_grants',
  {
    id: text('id').primaryKey(),
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** No foreign key: metadata-document clients have no row. */
    clientId: text('client_id').notNull(),
    clientKind: text('client_kind').$type<ClientKind>().notNull(),
    clientName: text('client_name'),
    redirectHost: text('redirect_host').notNull(),
    /** The whole canonical document at approval: a changed one must be approved again. */
    documentSha256: text('document_sha256'),
    resource: text('resource').$type<'platform' | 'notifications'>().notNull(),
    roleCap: roleCap().default('owner'),
    carriesAppRoles: carriesAppRoles().default(true),
    /** What is left of what was approved; narrowing takes away. */
    scopes: text('scopes').array().$type<Scope[]>().notNull(),
    /** Of the texts that were approved: `approvedScopes`. The first for rows of a process that does not know of it yet. */
    scopeEdition: integer('scope_edition').notNull().default(1),
    /** Ids of the data sources it was given for; null: all that its person may ask. */
    sources: text('sources').array(),
    /** How it came about, and by what: a grant is live only as long as that is. */
    via: text('via').$type<GrantVia>().notNull().default('consent'),
    /** No foreign keys: whether they are still there is asked on every call. */
    identityProviderId: text('identity_provider_id'),
    machineAgentId: text('machine_agent_id'),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    /** Fingerprint of both JWT secrets: rotating either ends every grant. */
    keyEpoch: text('key_epoch').notNull(),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
    expiresAt: instant('expires_at').notNull(),
    revokedAt: instant('revoked_at'),
    revokedReason: text('revoked_reason'),
    /** Since when what it uses is counted (`grant_uses`). Of rows from before there was a count: since the migration. */
    usesSince: instant('uses_since').notNull().defaultNow(),
    /** When its person was told that it will lose what it does not use, or end; null: not, or it has come to pass. */
    narrowingToldAt: instant('narrowing_told_at'),
    endingToldAt: instant('ending_told_at'),
  },
  (t) => [
    index('platform_access_grants_by_org').on(t.orgId, t.id),
    index('platform_access_grants_by_user').on(t.userId, t.clientId),
    index('platform_access_grants_by_client').on(t.clientId),
    // One live one for each person, client and endpoint that came in by a provider, and each endpoint of a machine agent.
    uniqueIndex('platform_access_grants_by_provider')
      .on(t.identityProviderId, t.userId, t.clientId, t.resource)
      .where(sql`identity_provider_id is not null and revoked_at is null`),
    uniqueIndex('platform_access_grants_by_machine_agent')
      .on(t.machineAgentId, t.resource)
      .where(sql`machine_agent_id is not null and revoked_at is null`),
  ],
)

/** A client that one organization does not want; liveness and authorization read it. */
export const organizationClientBlocks = pgTable(
  'organization_client_blocks',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    clientId: text('client_id').notNull(),
    since: instant('since').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.clientId] })],
)

/** Codes, refresh tokens, interactions. Keyed hashes only: the database alone opens nothing. */
export const oauthArtifacts = pgTable(
  'oauth_artifacts',
  {
    id: secretHash('id').primaryKey(),
    kind: text('kind').notNull(),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    grantId: text('grant_id'),
    uid: text('uid'),
    consumedAt: instant('consumed_at'),
    /** The answer a spent refresh token got, sealed under a key from that token: said again within the grace. */
    successor: text('successor'),
    expiresAt: instant('expires_at'),
  },
  (t) => [
    index('oauth_artifacts_by_grant').on(t.grantId),
    index('oauth_artifacts_by_uid').on(t.uid),
    index('oauth_artifacts_by_expiry').on(t.expiresAt),
  ],
)

/** Metadata documents as last fetched; not clients. */
export const oauthMetadataDocuments = pgTable('oauth_metadata_documents', {
  url: text('url').primaryKey(),
  document: jsonb('document').$type<Record<string, unknown>>().notNull(),
  sha256: text('sha256').notNull(),
  fetchedAt: instant('fetched_at').notNull(),
})
