import { and, eq, sql } from '../../../../db/drizzle.ts'
import { notifications } from '../../../../db/schema.ts'
import { notFound } from '../../../contracts/errors.ts'
import { notifyChange } from '../../changes/index.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { write, type Verb } from '../../verb.ts'
import { visibleTo } from './visible-notifications.ts'

/** The first time counts; repeated, the answer is the same. */
export const acknowledgeNotification: Verb<'acknowledgeNotification', WithDirectory> = write(
  { author: 'viewer' },
  async ({ tx, clock, member, directory }, { notification_id }) => {
    const visible = await visibleTo(directory, tx, member)
    const [row] = await tx
      .update(notifications)
      .set({ readAt: sql`coalesce(${notifications.readAt}, ${clock().toISOString()}::timestamptz)` })
      .where(and(visible, eq(notifications.id, notification_id)))
      .returning()
    if (!row) throw notFound()
    await notifyChange(tx, 'inbox', member)
    return { id: row.id, read: true, read_at: row.readAt!.toISOString() }
  },
)
