/** What the directory of an organization says by SCIM: its people, and which groups they are in. */
import { boolean, index, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import type { ScimRole } from '../../src/contracts/scim.ts'
import { instant, keyEpoch, orgId, previousValue, secretHash } from './columns.ts'
import { organizations } from './organizations.ts'
import { users } from './identity.ts'

/** SCIM of an organization is set up as long as it has one that is not revoked. */
export const scimBearers = pgTable(
  'scim_bearers',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    id: text('id').notNull(),
    /** Which sign-in provider, and its issuer: what provisioned people are bound to is chosen once. */
    provider: text('provider').notNull(),
    issuer: text('issuer').notNull(),
    startsWith: text('starts_with').notNull(),
    secretHash: secretHash('secret_hash').notNull(),
    keyEpoch: keyEpoch(),
    createdBy: text('created_by').notNull(),
    createdByName: text('created_by_name').notNull(),
    createdAt: instant('created_at').notNull(),
    rotatedBy: text('rotated_by'),
    rotatedAt: instant('rotated_at'),
    lastUsedAt: instant('last_used_at'),
    fullUntil: instant('full_until').notNull(),
    ...previousValue(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('scim_bearers_by_organization')
      .on(t.orgId)
      .where(sql`${t.revokedAt} is null`),
    uniqueIndex('scim_bearers_by_secret').on(t.secretHash),
    uniqueIndex('scim_bearers_by_previous').on(t.previousHash),
    index('scim_bearers_by_issuer').on(t.issuer),
  ],
)

/** A person as the directory has them. They have an account once they are bound, and a membership while they are active. */
export const provisionedPeople = pgTable(
  'provisioned_people',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    id: text('id').notNull(),
    bearerId: text('bearer_id').notNull(),
    /** As the directory writes it; none differs from another by case alone. */
    userName: text('user_name').notNull(),
    /** In lower case, as addresses are compared. */
    email: text('email').notNull(),
    externalId: text('external_id'),
    displayName: text('display_name'),
    givenName: text('given_name'),
    familyName: text('family_name'),
    active: boolean('active').notNull(),
    /** Removed from the organization after that: the directory does not bring them back by itself. */
    activeSince: instant('active_since').notNull(),
    /** Null until they are bound. */
    userId: text('user_id').references(() => users.id, { onDelete: 'set null' }),
    /** The role that groups gave last: what somebody else gave is left alone. */
    role: text('role').$type<ScimRole>(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    /** Kept, so that an email domain does not bring in who was deleted: each address by whoever had it last. */
    deletedAt: instant('deleted_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('provisioned_people_by_name')
      .on(t.orgId, sql`lower(${t.userName})`)
      .where(sql`${t.deletedAt} is null`),
    uniqueIndex('provisioned_people_by_email')
      .on(t.orgId, t.email)
      .where(sql`${t.deletedAt} is null`),
    uniqueIndex('provisioned_people_by_external_id')
      .on(t.orgId, t.externalId)
      .where(sql`${t.deletedAt} is null`),
    uniqueIndex('provisioned_people_by_user')
      .on(t.orgId, t.userId)
      .where(sql`${t.deletedAt} is null`),
    // Of the deleted, too: who had an address last.
    index('provisioned_people_by_address').on(t.email, t.orgId, t.id),
    index('provisioned_people_of_name').on(t.orgId, sql`lower(${t.userName})`, t.id),
    index('provisioned_people_by_subject').on(t.externalId),
    index('provisioned_people_of_user').on(t.userId),
  ],
)

/** A group that the directory fills. */
export const provisionedGroups = pgTable(
  'provisioned_groups',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    groupId: text('group_id').notNull(),
    externalId: text('external_id'),
    /** What it gives those in it. */
    role: text('role').$type<ScimRole>(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.groupId] })],
)

/** Who is in a group by the directory, bound or not. */
export const provisionedPlaces = pgTable(
  'provisioned_places',
  {
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    groupId: text('group_id').notNull(),
    personId: text('person_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.groupId, t.personId] }),
    index('provisioned_places_by_person').on(t.orgId, t.personId),
  ],
)
