/** The git remote of an app, and the pull requests that approved proposals became there. */
import type {
  GitHostName,
  PullRequestCode,
  PullRequestState,
  RightName,
} from '../../src/contracts/git-hosts.ts'
import { boolean, foreignKey, index, integer, jsonb, pgTable, primaryKey, sql, text } from '../drizzle.ts'
import { apps } from './apps.ts'
import { instant, orgId } from './columns.ts'

export const appRemotes = pgTable(
  'app_remotes',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    host: text('host').$type<GitHostName>().notNull(),
    /** Of the repository, without anything secret. */
    url: text('url').notNull(),
    /** The token, sealed under DATA_KEY for this row and this address. */
    sealedToken: text('sealed_token').notNull(),
    /** What the host signs its calls with; null: nobody has asked for one. */
    sealedHookSecret: text('sealed_hook_secret'),
    /** What the token may do beyond what is needed, as far as the host tells. */
    /** Others than its members may read it, as it was seen the last time. */
    isPublic: boolean('is_public').notNull().default(false),
    excess: jsonb('excess').$type<readonly RightName[]>().notNull(),
    setById: text('set_by_id').notNull(),
    /** As it was then. */
    setBy: text('set_by').notNull(),
    setAt: instant('set_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.appId] }),
    // It ends with the app.
    foreignKey({ columns: [t.orgId, t.appId], foreignColumns: [apps.orgId, apps.id] }).onDelete('cascade'),
  ],
)

/** Of each proposal the newest one: retrying opens another, on another branch. */
export const pullRequests = pgTable(
  'pull_requests',
  {
    orgId: orgId(),
    /** That of its proposal. */
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    /** The how manieth of this proposal: it is part of the name of its branch. */
    ordinal: integer('ordinal').notNull(),
    state: text('state').$type<PullRequestState>().notNull(),
    /** Why it failed; of one that is being opened or watched, why that did not work the last time. */
    code: text('code').$type<PullRequestCode>(),
    /** What the host calls it, once it is there. */
    number: integer('number'),
    url: text('url'),
    /** The pushed revision that holds its lines. */
    landedBy: text('landed_by'),
    requestedAt: instant('requested_at').notNull(),
    openedAt: instant('opened_at'),
    /** In a row. */
    failures: integer('failures').notNull().default(0),
    lookedAt: instant('looked_at'),
    /** When somebody opens it or looks at it next; null: there is nothing to do. */
    nextAt: instant('next_at'),
    leaseUntil: instant('lease_until'),
    leaseToken: text('lease_token'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('pull_requests_by_app').on(t.orgId, t.appId, t.id),
    index('pull_requests_due')
      .on(t.nextAt)
      .where(sql`next_at is not null`),
  ],
)
