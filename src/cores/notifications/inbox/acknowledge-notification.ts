import { and, eq, sql } from '../../../../db/drizzle.ts'
import { notifications } from '../../../../db/schema.ts'
import { notFound } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { lockAuthor } from '../../lock-author.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { withTransaction } from '../../transaction.ts'
import { visibleTo } from './visible-notifications.ts'

/** The first time counts; repeated, the answer is the same. */
export const acknowledgeNotification =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'acknowledgeNotification'> =>
  (who, { notification_id }) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(who), 'viewer')
      const visible = await visibleTo(directory, tx, member)
      const [row] = await tx
        .update(notifications)
        .set({ readAt: sql`coalesce(${notifications.readAt}, ${clock().toISOString()}::timestamptz)` })
        .where(and(visible, eq(notifications.id, notification_id)))
        .returning()
      if (!row) throw notFound()
      return { id: row.id, read: true, read_at: row.readAt!.toISOString() }
    })
