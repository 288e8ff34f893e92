import { and, asc, eq, gt } from '../../../db/drizzle.ts'
import { dataSourceHealth, dataSources } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember } from '../principal.ts'
import { nameContains, presentSource } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { presentHealth } from './source-health.ts'

export const listDataSources =
  ({ db, clock }: Storage): Handler<'listDataSources'> =>
  async (principal, { search, limit, cursor, count }) => {
    const { orgId } = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const matching = and(eq(dataSources.orgId, orgId), nameContains(search))
    const rows = await db
      .select({ source: dataSources, health: dataSourceHealth })
      .from(dataSources)
      .leftJoin(
        dataSourceHealth,
        and(eq(dataSourceHealth.orgId, dataSources.orgId), eq(dataSourceHealth.sourceId, dataSources.id)),
      )
      .where(and(matching, after === undefined ? undefined : gt(dataSources.name, after)))
      .orderBy(asc(dataSources.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ source }) => [source.name])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(dataSources).where(matching),
    )
    const now = clock()
    return {
      data_sources: page.rows.map(({ source, health }) => ({
        ...presentSource(source),
        health: presentHealth(health, now),
      })),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
