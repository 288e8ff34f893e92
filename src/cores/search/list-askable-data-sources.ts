import { and, inArray } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { sourceIdOf } from '../databases/index.ts'
import { list, type Verb } from '../list.ts'
import { isAskable } from './askable-sources.ts'

export const listAskableDataSources: Verb<'listAskableDataSources'> = list(
  { rows: 'data_sources', asc: [dataSources.name], search: [dataSources.name, dataSources.title] },
  async ({ db, member, orgId, page }) => {
    const { role, sources } = member
    return page({
      from: () => db.select().from(dataSources),
      where: and(
        isAskable(orgId, role),
        sources === null ? undefined : inArray(dataSources.id, [...sources]),
      ),
      key: (row) => [row.name],
      present: (rows) =>
        rows.map((row) => ({
          id: sourceIdOf(row.name),
          name: row.title,
          minimum_role: row.minimumRole,
          filters: row.configuration?.filter_schema ?? {},
          targets: row.configuration?.connection_config.embedding_configs.map(({ label }) => label) ?? [],
          description: row.description,
        })),
    })
  },
)
