import { and, asc, eq, gt } from '../../../db/drizzle.ts'
import { dataSourceHealth, dataSources } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireMember } from '../principal.ts'
import { nameContains, presentSource } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { presentHealth } from './source-health.ts'

export const listDataSources =
  ({ db, clock }: Storage): Handler<'listDataSources'> =>
  async (principal, { search, limit, cursor }) => {
    const { orgId } = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ source: dataSources, health: dataSourceHealth })
      .from(dataSources)
      .leftJoin(
        dataSourceHealth,
        and(eq(dataSourceHealth.orgId, dataSources.orgId), eq(dataSourceHealth.sourceId, dataSources.id)),
      )
      .where(
        and(
          eq(dataSources.orgId, orgId),
          nameContains(search),
          after === undefined ? undefined : gt(dataSources.name, after),
        ),
      )
      .orderBy(asc(dataSources.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ source }) => [source.name])
    const now = clock()
    return {
      data_sources: page.rows.map(({ source, health }) => ({
        ...presentSource(source),
        health: presentHealth(health, now),
      })),
      next_cursor: page.next_cursor,
    }
  }
