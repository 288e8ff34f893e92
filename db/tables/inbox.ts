/** What each person was told. One row per person and event; reading is per person. */
import { index, pgTable, primaryKey, text, uniqueIndex } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

export const inbox = pgTable(
  'inbox',
  {
    orgId: orgId(),
    userId: text('user_id').notNull(),
    id: text('id').notNull(),
    /** The event it tells of: told again, it is still one row. */
    eventId: text('event_id').notNull(),
    type: text('type').notNull(),
    subject: text('subject').notNull(),
    summary: text('summary').notNull(),
    url: text('url'),
    at: instant('at').notNull(),
    readAt: instant('read_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.userId, t.id] }),
    uniqueIndex('inbox_by_event').on(t.orgId, t.userId, t.eventId),
    index('inbox_unread').on(t.orgId, t.userId, t.readAt),
  ],
)
