/** Log lines of apps, what their senders have used, and what is counted as lines arrive. */
import { bigint, date, index, pgTable, primaryKey, smallint, text } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

const count = (name: string) => bigint(name, { mode: 'number' }).notNull()

/**
 * On Postgres a partition for each day, which is dropped when it is over; `log_lines_rest` has what belongs to none of
 * them, embedded all of it. Drizzle does not know partitions: the migration has them in SQL of its own.
 */
export const logLines = pgTable(
  'log_lines',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    /** In the order of arrival, without gaps: counted by the app's row in `log_usage`, which each sender locks. */
    number: count('number'),
    at: instant('at').notNull(),
    /** Where it stands in LOG_LEVELS. */
    level: smallint('level').notNull(),
    groupKey: bigint('group_key', { mode: 'bigint' }).notNull(),
    text: text('text').notNull(),
    service: text('service'),
    traceId: text('trace_id'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.appId, t.number, t.at] }),
    index('log_lines_by_time').on(t.orgId, t.appId, t.at, t.number),
  ],
)

export const logGroups = pgTable(
  'log_groups',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    /** A digest of level and template. */
    key: bigint('key', { mode: 'bigint' }).notNull(),
    level: smallint('level').notNull(),
    template: text('template').notNull(),
    /** The last day (UTC) that a line of it arrived. */
    lastDay: date('last_day').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.appId, t.key] }), index('log_groups_by_last_day').on(t.lastDay)],
)

/** One row an app. Locked while its lines are stored, so that one sender after the other is counted. */
export const logUsage = pgTable(
  'log_usage',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    lastNumber: count('last_number'),
    storedBytes: count('stored_bytes'),
    /** A leaky bucket of lines, as in `throttles`. */
    fullUntil: instant('full_until').notNull(),
    /** The day (UTC) of the two counts below. */
    day: date('day').notNull(),
    /** Lines that were not stored because the app's logs are full. */
    dropped: count('dropped'),
    /** Requests that were told to come again later. */
    refused: count('refused'),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.appId] })],
)

/** How many lines of a level in five minutes, for charts. */
export const logVolumes = pgTable(
  'log_volumes',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    at: instant('at').notNull(),
    level: smallint('level').notNull(),
    lines: count('lines'),
    bytes: count('bytes'),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.appId, t.at, t.level] }), index('log_volumes_by_time').on(t.at)],
)
