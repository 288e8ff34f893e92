/** Groups of an organization: members and machine agents who see the same rows. */
import { boolean, index, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

export const groups = pgTable(
  'groups',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    /** As rows name it; none differs from another by case alone. */
    name: text('name').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('groups_by_name').on(t.orgId, sql`lower(${t.name})`),
  ],
)

export const groupMembers = pgTable(
  'group_members',
  {
    orgId: orgId(),
    groupId: text('group_id').notNull(),
    userId: text('user_id').notNull(),
    /** The membership, or the machine agent, it was given to: void once that has ended, so that ending it needs no write here. */
    membershipId: text('membership_id').notNull(),
    addedAt: instant('added_at').notNull(),
    /** Given by the directory: it ends when the directory takes it. */
    provisioned: boolean('provisioned').notNull().default(false),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.groupId, t.userId] }),
    index('group_members_by_user').on(t.orgId, t.userId),
  ],
)
