import type { Handle } from '../../../../db/connect.ts'
import { and, eq, gte, isNotNull, isNull, sql } from '../../../../db/drizzle.ts'
import { notifications } from '../../../../db/schema.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isOfType } from '../../like-pattern.ts'
import { list, type Verb } from '../../list.ts'
import type { MemberPrincipal } from '../../principal.ts'
import { preparedQuery } from '../../prepared-query.ts'
import { subjectNames } from './subject-names.ts'
import { visibleTo } from './visible-notifications.ts'

export const listNotifications: Verb<'listNotifications', WithDirectory> = list(
  { rows: 'notifications', desc: [notifications.id] },
  async ({ db, member, directory, page }, { state, type, since, cursor, count, names }) => {
    // Most people have none, and every page of the console asks: then nobody's rights need to be read.
    if (state === 'unread' && cursor === undefined && !(await hasUnread(db, member)))
      return { notifications: [], unread_count: 0, ...(count && { total: 0 }) }
    const visible = await visibleTo(directory, db, member)
    const found = await page({
      from: () => db.select().from(notifications),
      where: and(
        visible,
        state === 'all'
          ? undefined
          : state === 'read'
            ? isNotNull(notifications.readAt)
            : isNull(notifications.readAt),
        type === undefined ? undefined : isOfType(notifications.type, type),
        since === undefined ? undefined : gte(notifications.at, new Date(since)),
      ),
      key: (row) => [row.id],
      present: async (rows) => {
        const named = names ? await subjectNames(db, member.orgId, rows) : undefined
        return rows.map((row) => ({
          id: row.id,
          type: row.type,
          subject: row.subject,
          summary: row.summary,
          ...(named && { name: named.get(row.subject) ?? null }),
          url: row.url,
          timestamp: row.at.toISOString(),
          read: row.readAt !== null,
          read_at: row.readAt?.toISOString() ?? null,
        }))
      },
    })
    // All there are, mostly none: they are not read a second time to be counted.
    const isAllUnread =
      state === 'unread' &&
      [type, since, cursor, found.next_cursor].every((restriction) => restriction === undefined)
    return {
      ...found,
      unread_count: isAllUnread
        ? found.notifications.length
        : await db.$count(notifications, and(visible, isNull(notifications.readAt))),
    }
  },
)

const hasUnread = async (db: Handle, { orgId, userId }: MemberPrincipal): Promise<boolean> =>
  (await oneUnread(db).execute({ orgId, userId })).length > 0

const oneUnread = preparedQuery((db) =>
  db
    .select({ id: notifications.id })
    .from(notifications)
    .where(
      and(
        eq(notifications.orgId, sql.placeholder('orgId')),
        eq(notifications.userId, sql.placeholder('userId')),
        isNull(notifications.readAt),
      ),
    )
    .limit(1)
    .prepare('one_unread'),
)
