import { and, desc, gte, isNotNull, isNull, lt } from '../../../../db/drizzle.ts'
import { notifications } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { pageOf, readCursor } from '../../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../../total-of.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isOfType } from '../../like-pattern.ts'
import { visibleTo } from './visible-notifications.ts'

export const listNotifications =
  ({ db, directory }: Storage & WithDirectory): Handler<'listNotifications'> =>
  async (who, { state, type, since, limit, cursor, count }) => {
    const visible = await visibleTo(directory, db, requireMember(who))
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(
      visible,
      state === 'all'
        ? undefined
        : state === 'read'
          ? isNotNull(notifications.readAt)
          : isNull(notifications.readAt),
      type === undefined ? undefined : isOfType(notifications.type, type),
      since === undefined ? undefined : gte(notifications.at, new Date(since)),
    )
    const rows = await db
      .select()
      .from(notifications)
      .where(and(matching, before === undefined ? undefined : lt(notifications.id, before)))
      .orderBy(desc(notifications.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(notifications).where(matching),
    )
    // All there are, mostly none: they are not read a second time to be counted.
    const isAllUnread =
      state === 'unread' &&
      [type, since, cursor, page.next_cursor].every((restriction) => restriction === undefined)
    return {
      notifications: page.rows.map((row) => ({
        id: row.id,
        type: row.type,
        subject: row.subject,
        summary: row.summary,
        url: row.url,
        timestamp: row.at.toISOString(),
        read: row.readAt !== null,
        read_at: row.readAt?.toISOString() ?? null,
      })),
      unread_count: isAllUnread
        ? page.rows.length
        : await db.$count(notifications, and(visible, isNull(notifications.readAt))),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
