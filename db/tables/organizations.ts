/** Organizations, who belongs to them, and who was invited. */
import { boolean, index, integer, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import type { RegisteredClients } from '../../src/contracts/organizations.ts'
import type { Role } from '../../src/contracts/roles.ts'
import { instant, orgId, secretHash } from './columns.ts'
import { users } from './identity.ts'

export const organizations = pgTable(
  'organizations',
  {
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    slug: text('slug').notNull().unique('organizations_slug_unique'),
    agentsEnabled: boolean('agents_enabled').notNull().default(true),
    /** Whether clients that registered themselves may connect here. */
    registeredClients: text('registered_clients').$type<RegisteredClients>().notNull().default('allowed'),
    adminsMayInvite: boolean('admins_may_invite').notNull().default(false),
    timezone: text('timezone').notNull().default('UTC'),
    supportAccessEnabled: boolean('support_access_enabled').notNull().default(true),
    /** What an agent has not used for so many days is taken from it, and one that was not used at all ends; null: never. */
    narrowUnusedAfterDays: integer('narrow_unused_after_days'),
    endUnusedAfterDays: integer('end_unused_after_days'),
    /** Null: the operator made it. A person may found so many; among the operator's, a name is unique. */
    foundedBy: text('founded_by').references(() => users.id, { onDelete: 'set null' }),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [index('organizations_by_founder').on(t.foundedBy)],
)

/** A domain leads to one organization only; otherwise two could claim the same newcomers. */
export const organizationDomains = pgTable(
  'organization_domains',
  {
    domain: text('domain').primaryKey(),
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
  },
  (t) => [index('organization_domains_by_org').on(t.orgId)],
)

export const memberships = pgTable(
  'memberships',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Another one each time somebody joins: what carries the id of an earlier membership is void. */
    id: text('id')
      .notNull()
      .default(sql`'mem_' || replace(gen_random_uuid()::text, '-', '')`),
    role: text('role').$type<Role>().notNull(),
    joinedBy: text('joined_by')
      .$type<'creation' | 'invitation' | 'domain' | 'operator' | 'identity_provider' | 'scim'>()
      .notNull(),
    joinedAt: instant('joined_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.userId] }), index('memberships_by_user').on(t.userId)],
)

/** Who was removed or left: their email domain brings back neither the account nor another one with the same address. */
export const formerMembers = pgTable(
  'former_members',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Their verified addresses at that moment. */
    emails: text('emails')
      .array()
      .notNull()
      .default(sql`'{}'::text[]`),
    since: instant('since').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.userId] })],
)

/**
 * With hosted auth: members as the vendor's auth service last validated them. It gives no right: what somebody may do comes
 * with the validation of each call. It says whom deliveries go to, how people are called, and the time zone.
 */
export const validatedMembers = pgTable(
  'validated_members',
  {
    orgId: orgId(),
    userId: text('user_id').notNull(),
    /** Another one each time somebody joins; the user's id where the vendor does not tell it. */
    membershipId: text('membership_id').notNull(),
    /** Their own, not that of a token they made. */
    role: text('role').$type<Role>().notNull(),
    name: text('name').notNull(),
    /** Only if the vendor says that it is verified. */
    email: text('email'),
    orgName: text('org_name').notNull(),
    timezone: text('timezone').notNull(),
    validatedAt: instant('validated_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.userId] }),
    index('validated_members_by_time').on(t.orgId, t.validatedAt),
  ],
)

export const invitations = pgTable(
  'invitations',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    id: text('id').notNull(),
    email: text('email').notNull(),
    role: text('role').$type<Exclude<Role, 'member'>>().notNull(),
    secretHash: secretHash('secret_hash').notNull(),
    invitedBy: text('invited_by').references(() => users.id, { onDelete: 'set null' }),
    /** The API token that it was made with: it ends with that one. */
    madeWithTokenId: text('made_with_token_id'),
    /** The account the operator made for a first owner, waiting for that person to take it over. */
    waitingUserId: text('waiting_user_id').references(() => users.id, { onDelete: 'set null' }),
    /** Only a link that we mailed proves the address when it is opened. */
    sentByMail: boolean('sent_by_mail').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    acceptedAt: instant('accepted_at'),
    acceptedBy: text('accepted_by').references(() => users.id, { onDelete: 'set null' }),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('invitations_by_secret').on(t.secretHash),
    index('invitations_by_email').on(t.orgId, t.email),
    index('invitations_by_token').on(t.orgId, t.madeWithTokenId),
  ],
)
