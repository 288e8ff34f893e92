import { and, gte, isNotNull, isNull } from '../../../../db/drizzle.ts'
import { notifications } from '../../../../db/schema.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isOfType } from '../../like-pattern.ts'
import { list, type Verb } from '../../list.ts'
import { subjectNames } from './subject-names.ts'
import { visibleTo } from './visible-notifications.ts'

export const listNotifications: Verb<'listNotifications', WithDirectory> = list(
  { rows: 'notifications', desc: [notifications.id] },
  async ({ db, member, directory, page }, { state, type, since, cursor, names }) => {
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
