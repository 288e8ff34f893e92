/** Makes, lists, shows and renames apps. */
import { isUniqueViolation, type Handle } from '../../../db/connect.ts'
import { and, asc, eq, gt, ilike, isNotNull, ne, or, sql } from '../../../db/drizzle.ts'
import { appMembers, apps, memberships, tickets, users } from '../../../db/schema.ts'
import type { createApp, listApps, renameApp, showApp } from '../../contracts/apps.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { containing } from '../search-text.ts'
import { withTransaction } from '../transaction.ts'
import { appFor, partOf, type App, type Part } from './find-app.ts'

const present = (app: App, part: Part | null, openTickets: number) => ({
  id: app.id,
  alias: app.alias,
  name: app.name,
  my_part: part,
  open_tickets: openTickets,
  created_at: app.createdAt.toISOString(),
})

export const makeApp =
  ({ db, clock }: Storage): Handler<typeof createApp> =>
  async (who, { alias, name }) => {
    const caller = asMember(who)
    const { orgId, userId } = caller
    try {
      return await withTransaction(db, async (tx) => {
        const now = clock()
        const [app] = await tx
          .insert(apps)
          .values({ orgId, id: makeId('app', now.getTime()), alias, name, createdAt: now, createdBy: userId })
          .returning()
        const part = partOf(caller.role, 'maintainer')
        // Support staff are no members, and only members stand on an app.
        if (caller.supportSessionId === undefined) {
          await tx
            .insert(appMembers)
            .values({ orgId, appId: app!.id, userId, role: 'maintainer', addedAt: now })
        }
        await recordAudit(tx, clock, caller, { orgId, action: 'app.created', subject: alias })
        return present(app!, part, 0)
      })
    } catch (error) {
      if (!isUniqueViolation(error, 'apps_by_alias')) throw error
      throw new ServiceError('CONFLICT', 'There is an app with this alias already')
    }
  }

export const appsOf =
  ({ db }: Storage): Handler<typeof listApps> =>
  async (who, { search, mine, limit, cursor }) => {
    const caller = asMember(who)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await appRows(db, caller)
      .where(
        and(
          eq(apps.orgId, caller.orgId),
          search
            ? or(ilike(apps.alias, containing(search)), ilike(apps.name, containing(search)))
            : undefined,
          mine ? isNotNull(appMembers.userId) : undefined,
          after === undefined ? undefined : gt(apps.alias, after),
        ),
      )
      .orderBy(asc(apps.alias))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.app.alias])
    return {
      apps: page.rows.map(({ app, appRole, openTickets }) =>
        present(app, partOf(caller.role, appRole), openTickets),
      ),
      next_cursor: page.next_cursor,
    }
  }

export const oneApp =
  ({ db }: Storage): Handler<typeof showApp> =>
  async (who, { alias }) => {
    const caller = asMember(who)
    const { app, part } = await appFor(db, caller, alias)
    const members = await db
      .select({ userId: users.id, name: users.name, role: appMembers.role, addedAt: appMembers.addedAt })
      .from(appMembers)
      .innerJoin(
        memberships,
        and(eq(memberships.orgId, appMembers.orgId), eq(memberships.userId, appMembers.userId)),
      )
      .innerJoin(users, eq(users.id, appMembers.userId))
      .where(and(eq(appMembers.orgId, app.orgId), eq(appMembers.appId, app.id)))
      .orderBy(asc(users.name), asc(users.id))
    return {
      ...present(app, part, await openTicketsOf(db, caller, app.id)),
      members: members.map((row) => ({
        user_id: row.userId,
        name: row.name,
        role: row.role,
        added_at: row.addedAt.toISOString(),
      })),
    }
  }

export const nameApp =
  ({ db, clock }: Storage): Handler<typeof renameApp> =>
  (who, { alias, name }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const { app, part } = await appFor(tx, caller, alias)
      requireMaintainer(part)
      const open = await openTicketsOf(tx, caller, app.id)
      if (app.name === name) return present(app, part, open)
      await tx
        .update(apps)
        .set({ name })
        .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
      const subject = `${alias}: ${app.name} → ${name}`
      await recordAudit(tx, clock, caller, { orgId, action: 'app.renamed', subject })
      return present({ ...app, name }, part, open)
    })

export function requireMaintainer(part: Part | null): void {
  if (part === 'maintainer' || part === 'administrator') return
  throw new ServiceError('FORBIDDEN', 'Only maintainers of the app, owners and admins may do this')
}

/** With the caller's own row on each, and as many tickets as the list of tickets would show them. */
const appRows = (db: Handle, caller: MemberCaller) =>
  db
    .select({ app: apps, appRole: appMembers.role, openTickets: openTickets(db, caller) })
    .from(apps)
    .leftJoin(
      appMembers,
      and(
        eq(appMembers.orgId, apps.orgId),
        eq(appMembers.appId, apps.id),
        eq(appMembers.userId, caller.userId),
        // A visitor who was a member once is nobody's builder now.
        caller.supportSessionId === undefined ? undefined : sql`false`,
      ),
    )

const openTickets = (db: Handle, caller: MemberCaller) => {
  const counted = db
    .select({ count: sql<number>`count(*)::int` })
    .from(tickets)
    .where(
      and(
        eq(tickets.orgId, apps.orgId),
        eq(tickets.appId, apps.id),
        ne(tickets.status, 'done'),
        atLeast(caller.role, 'admin')
          ? undefined
          : or(isNotNull(appMembers.userId), eq(tickets.reporterId, caller.userId)),
      ),
    )
  return sql<number>`(${counted})`
}

async function openTicketsOf(db: Handle, caller: MemberCaller, appId: string): Promise<number> {
  const [row] = await appRows(db, caller).where(and(eq(apps.orgId, caller.orgId), eq(apps.id, appId)))
  return row?.openTickets ?? 0
}
