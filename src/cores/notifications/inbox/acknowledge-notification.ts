import { and, eq, sql } from '../../../../db/drizzle.ts'
import { notifications } from '../../../../db/schema.ts'
import { notFound } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { visibleTo } from './visible-notifications.ts'

/** The first time counts; repeated, the answer is the same. */
export const acknowledgeNotification =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'acknowledgeNotification'> =>
  async (who, { notification_id }) => {
    const visible = await visibleTo(directory, db, requireMember(who))
    const [row] = await db
      .update(notifications)
      .set({ readAt: sql`coalesce(${notifications.readAt}, ${clock().toISOString()}::timestamptz)` })
      .where(and(visible, eq(notifications.id, notification_id)))
      .returning()
    if (!row) throw notFound()
    return { id: row.id, read: true, read_at: row.readAt!.toISOString() }
  }
