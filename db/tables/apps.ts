/** Apps in their smallest form, who builds and maintains them, the tickets filed on them, and support sessions. */
import type { APP_ROLES } from '../../src/contracts/apps.ts'
import type { AppScope } from '../../src/contracts/scopes.ts'
import type { TICKET_STATUSES } from '../../src/contracts/tickets.ts'
import { boolean, index, jsonb, pgTable, primaryKey, text, uniqueIndex } from '../drizzle.ts'
import { instant, keyEpoch, orgId, previousValue, secretHash } from './columns.ts'

export const apps = pgTable(
  'apps',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    alias: text('alias').notNull(),
    name: text('name').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by'),
    /** What its runners say that they execute, the newest first. */
    runnerCommands: jsonb('runner_commands').$type<readonly string[]>().notNull().default([]),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.id] }), uniqueIndex('apps_by_alias').on(t.orgId, t.alias)],
)

export const appMembers = pgTable(
  'app_members',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    userId: text('user_id').notNull(),
    /** The membership it was given to: void once that one has ended, so that ending it needs no write here. */
    membershipId: text('membership_id').notNull(),
    role: text('role').$type<(typeof APP_ROLES)[number]>().notNull(),
    addedAt: instant('added_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.appId, t.userId] }),
    index('app_members_by_user').on(t.orgId, t.userId),
  ],
)

/** They belong to the app: whoever made one may leave, and its logs go on. */
export const appTokens = pgTable(
  'app_tokens',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    name: text('name').notNull(),
    scope: text('scope').$type<AppScope>().notNull(),
    secretHash: secretHash('secret_hash').notNull(),
    startsWith: text('starts_with').notNull(),
    keyEpoch: keyEpoch(),
    createdBy: text('created_by').notNull(),
    /** As it was then: a person may be gone when somebody reads this. */
    createdByName: text('created_by_name').notNull(),
    createdAt: instant('created_at').notNull(),
    rotatedBy: text('rotated_by'),
    rotatedAt: instant('rotated_at'),
    lastUsedAt: instant('last_used_at'),
    ...previousValue(),
    /** A leaky bucket of calls, as in `throttles`: counted by the statement that finds the token. */
    fullUntil: instant('full_until').notNull(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('app_tokens_by_secret').on(t.orgId, t.secretHash),
    uniqueIndex('app_tokens_by_previous').on(t.orgId, t.previousHash),
    index('app_tokens_by_app').on(t.orgId, t.appId, t.id),
  ],
)

export const tickets = pgTable(
  'tickets',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    title: text('title').notNull(),
    body: text('body').notNull(),
    status: text('status').$type<(typeof TICKET_STATUSES)[number]>().notNull(),
    reporterId: text('reporter_id').notNull(),
    /** As it was then: a person may be gone when somebody reads this. */
    reporterName: text('reporter_name').notNull(),
    createdAt: instant('created_at').notNull(),
    changedAt: instant('changed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('tickets_by_app').on(t.orgId, t.appId, t.id),
    index('tickets_by_reporter').on(t.orgId, t.reporterId, t.id),
  ],
)

export const ticketReplies = pgTable(
  'ticket_replies',
  {
    orgId: orgId(),
    ticketId: text('ticket_id').notNull(),
    id: text('id').notNull(),
    /** A note for those who work on the app: never shown to others, and nobody is notified of it. */
    isInternal: boolean('is_internal').notNull(),
    body: text('body').notNull(),
    authorId: text('author_id').notNull(),
    authorName: text('author_name').notNull(),
    at: instant('at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.ticketId, t.id] })],
)

/** Vendor staff inside an organization: it ends by itself, by an owner, or when support access is switched off. */
export const supportSessions = pgTable(
  'support_sessions',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    staffId: text('staff_id').notNull(),
    /** Why, in the operator's words; the owners read it. */
    reason: text('reason').notNull(),
    startedAt: instant('started_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    elevatedAt: instant('elevated_at'),
    elevationReason: text('elevation_reason'),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('support_sessions_by_staff').on(t.staffId, t.expiresAt),
  ],
)
