/** A person's own notifications: told once per event, listed, acknowledged. Nobody else's row can be seen or touched. */
import type { Transaction } from '../../../db/connect.ts'
import { and, count, desc, eq, gte, isNotNull, isNull, like, lt, sql } from '../../../db/drizzle.ts'
import { appMembers, events, inbox, memberships } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { acknowledge, listInbox } from '../../contracts/inbox.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { asMember } from '../caller.ts'
import type { Clock, Storage } from '../needs.ts'
import { containing } from '../search-text.ts'

export type Told = {
  readonly orgId: string
  readonly userId: string
  readonly eventId: string
  readonly type: string
  readonly subject: string
  readonly summary: string
  readonly url: string | null
}

/** Into the inbox, in the transaction of whatever it tells about. The same event twice is one row. */
export const tell = (tx: Transaction, clock: Clock, { userId, ...told }: Told): Promise<void> =>
  tellAll(tx, clock, [userId], told)

/** One statement, however many people there are. */
export async function tellAll(
  tx: Transaction,
  clock: Clock,
  userIds: readonly string[],
  told: Omit<Told, 'userId'>,
): Promise<void> {
  if (userIds.length === 0) return
  const at = clock()
  const people = JSON.stringify(userIds.map((userId) => ({ userId, id: makeId('ntf', at.getTime()) })))
  await tx.execute(sql`
    insert into inbox (org_id, user_id, id, event_id, type, subject, summary, url, at)
    select ${told.orgId}, p."userId", p.id, ${told.eventId}, ${told.type}, ${told.subject}, ${told.summary},
      ${told.url}, ${at.toISOString()}::timestamptz
    from json_to_recordset(${people}::text::json) as p("userId" text, id text)
    on conflict (org_id, user_id, event_id) do nothing`)
}

export const readInbox =
  ({ db }: Storage): Handler<typeof listInbox> =>
  async (who, { state, type, since, limit, cursor }) => {
    const { orgId, userId } = asMember(who)
    const own = and(eq(inbox.orgId, orgId), eq(inbox.userId, userId), stillTheirs)
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select()
      .from(inbox)
      .where(
        and(
          own,
          state === 'all' ? undefined : state === 'read' ? isNotNull(inbox.readAt) : isNull(inbox.readAt),
          type === undefined ? undefined : ofType(type),
          since === undefined ? undefined : gte(inbox.at, new Date(since)),
          before === undefined ? undefined : lt(inbox.id, before),
        ),
      )
      .orderBy(desc(inbox.id))
      .limit(limit + 1)
    const [unread] = await db
      .select({ n: count() })
      .from(inbox)
      .where(and(own, isNull(inbox.readAt)))
    const page = pageOf(rows, limit, (row) => [row.id])
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
      unread_count: unread!.n,
      next_cursor: page.next_cursor,
    }
  }

/**
 * Asked again at every look: what happened to an app is told to those who build, maintain or administer it today. What
 * concerns the person themself, such as a reply to a ticket they filed, stays theirs for good.
 */
const stillTheirs = sql`not exists (
  select 1 from ${events} happened
  where happened.org_id = ${inbox.orgId} and happened.id = ${inbox.eventId}
    and happened.app_id is not null and happened.concerns_id is distinct from ${inbox.userId}
    and not exists (
      select 1 from ${memberships} m
      left join ${appMembers} part
        on part.org_id = m.org_id and part.user_id = m.user_id and part.app_id = happened.app_id
      where m.org_id = ${inbox.orgId} and m.user_id = ${inbox.userId}
        and (m.role in ('owner', 'admin') or part.user_id is not null)))`

const ofType = (pattern: string) =>
  pattern.endsWith('.*')
    ? like(inbox.type, containing(pattern.slice(0, -1)).slice(1))
    : eq(inbox.type, pattern)

/** The first time counts; said again, the same is answered. */
export const markRead =
  ({ db, clock }: Storage): Handler<typeof acknowledge> =>
  async (who, { notification_id }) => {
    const { orgId, userId } = asMember(who)
    const [row] = await db
      .update(inbox)
      .set({ readAt: sql`coalesce(${inbox.readAt}, ${clock().toISOString()}::timestamptz)` })
      .where(
        and(eq(inbox.orgId, orgId), eq(inbox.userId, userId), eq(inbox.id, notification_id), stillTheirs),
      )
      .returning()
    if (!row) throw notFound()
    return { id: row.id, read: true, read_at: row.readAt!.toISOString() }
  }
