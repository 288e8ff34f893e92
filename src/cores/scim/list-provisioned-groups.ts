import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { groups, provisionedGroups, provisionedPlaces as places } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'

export const listProvisionedGroups: Verb<'listProvisionedGroups'> = list(
  { rows: 'groups', asc: [groups.name, groups.id] },
  async ({ db, orgId, page }) =>
    page({
      from: () =>
        db
          .select({
            id: groups.id,
            name: groups.name,
            externalId: provisionedGroups.externalId,
            role: provisionedGroups.role,
          })
          .from(groups)
          .innerJoin(
            provisionedGroups,
            and(eq(provisionedGroups.orgId, groups.orgId), eq(provisionedGroups.groupId, groups.id)),
          ),
      where: eq(groups.orgId, orgId),
      key: ({ name, id }) => [name, id],
      present: async (rows) => {
        const ids = rows.map(({ id }) => id)
        const counted =
          ids.length === 0
            ? []
            : await db
                .select({ id: places.groupId, n: sql<number>`count(*)`.mapWith(Number) })
                .from(places)
                .where(and(eq(places.orgId, orgId), inArray(places.groupId, ids)))
                .groupBy(places.groupId)
        const counts = new Map(counted.map(({ id, n }) => [id, n]))
        return rows.map(({ id, name, externalId, role }) => ({
          id,
          name,
          external_id: externalId,
          people: counts.get(id) ?? 0,
          role,
        }))
      },
    }),
)
