import { and, eq } from '../../../db/drizzle.ts'
import { appMembers } from '../../../db/schema.ts'
import { memberKey, type WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { requireApp } from './find-app.ts'
import { presentApp, countOpenTickets } from './present-app.ts'

export const showApp: Verb<'showApp', WithDirectory> = read(async ({ db, member, directory }, { alias }) => {
  const { app, appRole } = await requireApp(directory, db, member, alias)
  const rows = await db
    .select()
    .from(appMembers)
    .where(and(eq(appMembers.orgId, app.orgId), eq(appMembers.appId, app.id)))
  const people = await directory.readMembers(db, rows)
  return {
    ...presentApp(app, appRole, await countOpenTickets(directory, db, member, app.id)),
    // Whoever is no longer a member of the organization, or is one anew, is not one of its apps.
    members: rows
      .flatMap((row) => {
        const member = people.get(memberKey(row))
        return member?.membershipId === row.membershipId ? [{ ...row, name: member.name }] : []
      })
      .toSorted((a, b) => (a.name < b.name || (a.name === b.name && a.userId < b.userId) ? -1 : 1))
      .map(({ userId, name, role, addedAt }) => ({
        user_id: userId,
        name,
        role,
        added_at: addedAt.toISOString(),
      })),
  }
})
