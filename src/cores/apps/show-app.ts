import { and, asc, eq, inArray } from '../../../db/drizzle.ts'
import { appMembers, memberships, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { requireApp } from './find-app.ts'
import { presentApp, countOpenTickets } from './present-app.ts'

export const showApp =
  ({ db }: Storage): Handler<'showApp'> =>
  async (principal, { alias }) => {
    const member = requireMember(principal)
    const { app, appRole } = await requireApp(db, member, alias)
    const rows = await db
      .select()
      .from(appMembers)
      .where(and(eq(appMembers.orgId, app.orgId), eq(appMembers.appId, app.id)))
    const byUser = new Map(rows.map((row) => [row.userId, row]))
    // Whoever is no longer a member of the organization is no longer one of its apps either.
    const people = await db
      .select({ id: users.id, name: users.name })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(and(eq(memberships.orgId, app.orgId), inArray(memberships.userId, [...byUser.keys()])))
      .orderBy(asc(users.name), asc(users.id))
    return {
      ...presentApp(app, appRole, await countOpenTickets(db, member, app.id)),
      members: people.map(({ id, name }) => {
        const { role, addedAt } = byUser.get(id)!
        return { user_id: id, name, role, added_at: addedAt.toISOString() }
      }),
    }
  }
