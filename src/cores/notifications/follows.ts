/** What a person follows of the apps they build, maintain or administer, and how the last message about each fared. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, gt, inArray, isNotNull, isNull, ne, or, sql } from '../../../db/drizzle.ts'
import {
  appMembers,
  apps,
  deliveries,
  memberships,
  organizations,
  personalFollows,
  sends,
} from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { CATEGORIES, type Category } from '../../contracts/events.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { listFollows, setFollow } from '../../contracts/subscriptions.ts'
import { findApp, partIn, type App } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { windowsAfter } from './digest-windows.ts'

type FollowRow = typeof personalFollows.$inferSelect

export const myFollows =
  ({ db, clock }: Storage): Handler<typeof listFollows> =>
  async (who, { following, limit, cursor }) => {
    const caller = asMember(who)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ app: apps, follow: personalFollows })
      .from(apps)
      .innerJoin(memberships, and(eq(memberships.orgId, apps.orgId), eq(memberships.userId, caller.userId)))
      .leftJoin(
        appMembers,
        and(
          eq(appMembers.orgId, apps.orgId),
          eq(appMembers.appId, apps.id),
          eq(appMembers.userId, caller.userId),
        ),
      )
      .leftJoin(personalFollows, followed(caller.userId))
      .where(
        and(
          eq(apps.orgId, caller.orgId),
          or(inArray(memberships.role, ['owner', 'admin']), isNotNull(appMembers.role)),
          following ? isNotNull(personalFollows.appId) : undefined,
          after === undefined ? undefined : gt(apps.alias, after),
        ),
      )
      .orderBy(asc(apps.alias))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ app }) => [app.alias])
    const last = await lastOutcomes(
      db,
      caller,
      page.rows.map(({ app }) => app.id),
    )
    return {
      follows: page.rows.map(({ app, follow }) => present(app, follow, last)),
      next_daily_at: (await nextDailyAt(db, caller.orgId, clock())).toISOString(),
      next_cursor: page.next_cursor,
    }
  }

async function nextDailyAt(db: Handle, orgId: string, now: Date): Promise<Date> {
  const [organization] = await db
    .select({ timezone: organizations.timezone })
    .from(organizations)
    .where(eq(organizations.id, orgId))
  return (await windowsAfter(db, organization!.timezone, now)).daily
}

const followed = (userId: string) =>
  and(
    eq(personalFollows.orgId, apps.orgId),
    eq(personalFollows.appId, apps.id),
    eq(personalFollows.userId, userId),
  )

type Last = {
  readonly appId: string | null
  readonly state: (typeof deliveries.$inferSelect)['state']
  readonly reason: (typeof deliveries.$inferSelect)['reason']
  readonly createdAt: Date
  readonly settledAt: Date | null
  readonly nextAt: Date | null
}

/** The newest message about each app that somebody has tried to send; what still waits says nothing yet. */
async function lastOutcomes(
  db: Handle,
  { orgId, userId }: MemberCaller,
  appIds: readonly string[],
): Promise<ReadonlyMap<string | null, Last>> {
  if (appIds.length === 0) return new Map()
  const rows = await db
    .selectDistinctOn([deliveries.appId], {
      appId: deliveries.appId,
      state: deliveries.state,
      reason: deliveries.reason,
      createdAt: deliveries.createdAt,
      settledAt: deliveries.settledAt,
      nextAt: sends.nextAt,
    })
    .from(deliveries)
    .leftJoin(sends, and(eq(sends.orgId, deliveries.orgId), eq(sends.id, deliveries.sendId)))
    .where(
      and(
        eq(deliveries.orgId, orgId),
        eq(deliveries.userId, userId),
        isNull(deliveries.subscriptionId),
        inArray(deliveries.appId, [...appIds]),
        ne(deliveries.state, 'waiting'),
      ),
    )
    .orderBy(deliveries.appId, sql`${deliveries.id} desc`)
  return new Map(rows.map((row) => [row.appId, row]))
}

const present = (app: App, follow: FollowRow | null, last: ReadonlyMap<string | null, Last>) => ({
  app: app.alias,
  name: app.name,
  categories: follow?.categories ?? [],
  frequency: follow?.frequency ?? ('immediately' as const),
  last: outcomeOf(last.get(app.id)),
})

function outcomeOf(last: Last | undefined) {
  if (!last) return null
  const isRetrying = last.state === 'retrying'
  return {
    outcome:
      last.state === 'sent'
        ? ('delivered' as const)
        : isRetrying
          ? ('retrying' as const)
          : ('not_sent' as const),
    reason: last.reason,
    at: (last.settledAt ?? last.createdAt).toISOString(),
    next_attempt_at: isRetrying ? (last.nextAt?.toISOString() ?? null) : null,
  }
}

/** Who has no part in an app any more may still stop following it. */
export const chooseFollow =
  ({ db, clock }: Storage): Handler<typeof setFollow> =>
  (who, { alias, categories: asked, frequency }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId, userId } = caller
      const app = await findApp(tx, orgId, alias)
      if (!app) throw notFound()
      if (asked.length > 0 && !(await partIn(tx, { orgId, appId: app.id, userId }))) {
        throw new ServiceError('FORBIDDEN', 'You may follow only apps that you build, maintain or administer')
      }
      const categories = CATEGORIES.filter((category) => asked.includes(category))
      const follow = { orgId, userId, appId: app.id, categories, frequency, changedAt: clock() }
      const own = and(
        eq(personalFollows.orgId, orgId),
        eq(personalFollows.userId, userId),
        eq(personalFollows.appId, app.id),
      )
      const [before] = await tx.select().from(personalFollows).where(own).for('update')
      if (!isSame(before, categories, frequency)) {
        if (categories.length === 0) await tx.delete(personalFollows).where(own)
        else {
          await tx
            .insert(personalFollows)
            .values(follow)
            .onConflictDoUpdate({
              target: [personalFollows.orgId, personalFollows.userId, personalFollows.appId],
              set: { categories, frequency, changedAt: follow.changedAt },
            })
        }
        const subject = `${alias}: ${categories.join(', ') || 'nothing'}`
        await recordAudit(tx, clock, who, { orgId, action: 'follow.changed', subject })
      }
      return present(app, categories.length === 0 ? null : follow, await lastOutcomes(tx, caller, [app.id]))
    })

const isSame = (
  before: FollowRow | undefined,
  categories: readonly Category[],
  frequency: FollowRow['frequency'],
): boolean =>
  categories.length === 0
    ? before === undefined
    : before?.frequency === frequency && before.categories.join() === categories.join()
