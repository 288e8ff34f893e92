/** Organizations, who belongs to them, and who was invited. */
import { boolean, index, pgTable, primaryKey, text, uniqueIndex } from '../drizzle.ts'
import type { Role } from '../../src/contracts/roles.ts'
import { instant, orgId, secretHash } from './columns.ts'
import { users } from './identity.ts'

export const organizations = pgTable('organizations', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  slug: text('slug').notNull().unique('organizations_slug_unique'),
  agentsEnabled: boolean('agents_enabled').notNull().default(true),
  adminsMayInvite: boolean('admins_may_invite').notNull().default(false),
  timezone: text('timezone').notNull().default('UTC'),
  supportAccessEnabled: boolean('support_access_enabled').notNull().default(true),
  createdAt: instant('created_at').notNull(),
})

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
    role: text('role').$type<Role>().notNull(),
    joinedBy: text('joined_by').$type<'creation' | 'invitation' | 'domain' | 'operator'>().notNull(),
    joinedAt: instant('joined_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.userId] }), index('memberships_by_user').on(t.userId)],
)

/** Who was removed or left: their email domain does not bring them back in. */
export const formerMembers = pgTable(
  'former_members',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    since: instant('since').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.userId] })],
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
  ],
)
