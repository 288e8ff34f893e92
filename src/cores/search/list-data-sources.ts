import { and, eq } from '../../../db/drizzle.ts'
import { dataSourceHealth, dataSources } from '../../../db/schema.ts'
import { presentSource } from '../databases/index.ts'
import { list, type Verb } from '../list.ts'
import { presentHealth } from './source-health.ts'

export const listDataSources: Verb<'listDataSources'> = list(
  { rows: 'data_sources', asc: [dataSources.name], search: [dataSources.name, dataSources.title] },
  async ({ db, clock, orgId, page }) => {
    const now = clock()
    return page({
      from: () =>
        db
          .select({ source: dataSources, health: dataSourceHealth })
          .from(dataSources)
          .leftJoin(
            dataSourceHealth,
            and(eq(dataSourceHealth.orgId, dataSources.orgId), eq(dataSourceHealth.sourceId, dataSources.id)),
          ),
      where: eq(dataSources.orgId, orgId),
      key: ({ source }) => [source.name],
      present: (rows) =>
        rows.map(({ source, health }) => ({
          ...presentSource(source),
          health: presentHealth(health, now),
        })),
    })
  },
)
