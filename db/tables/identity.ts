/** People, how they prove who they are, and where they are signed in. */
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex } from '../drizzle.ts'
import type { Audience, Scope } from '../../src/contracts/scopes.ts'
import { carriesAppRoles, instant, keyEpoch, orgId, previousValue, roleCap, secretHash } from './columns.ts'

/** Two people may show the same address: it is told to us by others. Only verified ones mean anything. */
export const users = pgTable(
  'users',
  {
    id: text('id').primaryKey(),
    email: text('email').notNull(),
    emailVerifiedAt: instant('email_verified_at'),
    name: text('name').notNull(),
    /** A machine agent has no way to sign in, and no mail is sent to it. */
    kind: text('kind').$type<'person' | 'machine'>().notNull().default('person'),
    lastOrgId: text('last_org_id'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [index('users_by_email').on(t.email)],
)

/** A person is (issuer, subject), never an email address. */
export const identities = pgTable(
  'identities',
  {
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text('provider').notNull(),
    email: text('email'),
    /** Whether the provider vouched for that address at the last sign-in. */
    emailVerified: boolean('email_verified').notNull().default(false),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.issuer, t.subject] }), index('identities_by_user').on(t.userId)],
)

/** The address is the sign-in name here, so among password accounts it is unique. */
export const passwords = pgTable('passwords', {
  userId: text('user_id')
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  email: text('email').notNull().unique('passwords_email_unique'),
  hash: text('hash').notNull(),
  changedAt: instant('changed_at').notNull(),
})

export const sessions = pgTable(
  'sessions',
  {
    id: text('id').primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** `cli`: a login of the client, a credential of its own kind. */
    kind: text('kind').$type<'browser' | 'cli'>().notNull().default('browser'),
    /** The organization last chosen in this session; of a login of the client the only one. */
    orgId: text('org_id'),
    signedInBy: text('signed_in_by').notNull(),
    device: text('device').notNull(),
    roleCap: roleCap().default('owner'),
    carriesAppRoles: carriesAppRoles().default(true),
    /** The cookie on the auth service's own origin; scripts have none. */
    browserSecretHash: secretHash('browser_secret_hash'),
    /** Which token of the session is the current one; see rotate-session. */
    generation: integer('generation').notNull().default(1),
    rotatedAt: instant('rotated_at').notNull(),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    endedAt: instant('ended_at'),
  },
  (t) => [
    index('sessions_by_user').on(t.userId, t.id),
    uniqueIndex('sessions_by_browser').on(t.browserSecretHash),
    index('sessions_by_expiry').on(t.expiresAt),
  ],
)

export const apiTokens = pgTable(
  'api_tokens',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The token that it was made with: it ends with that one. */
    parentId: text('parent_id'),
    name: text('name').notNull(),
    startsWith: text('starts_with').notNull(),
    secretHash: secretHash('secret_hash').notNull(),
    /** `owner` of one that is not capped. */
    roleCap: roleCap(),
    carriesAppRoles: carriesAppRoles().default(false),
    scopes: text('scopes').array().$type<Scope[]>(),
    /** Of the texts that its scopes were chosen by: `approvedScopes`. */
    scopeEdition: integer('scope_edition').notNull().default(1),
    audiences: text('audiences').array().$type<Audience[]>().notNull(),
    keyEpoch: keyEpoch(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    rotatedAt: instant('rotated_at'),
    ...previousValue(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('api_tokens_by_secret').on(t.secretHash),
    uniqueIndex('api_tokens_by_previous').on(t.previousHash),
    index('api_tokens_by_user').on(t.orgId, t.userId),
    index('api_tokens_by_parent').on(t.orgId, t.parentId),
  ],
)
