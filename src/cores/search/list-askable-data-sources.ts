import { and, asc, gt, inArray } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember } from '../principal.ts'
import { nameContains, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { isAskable } from './askable-sources.ts'

export const listAskableDataSources =
  ({ db }: Storage): Handler<'listAskableDataSources'> =>
  async (principal, { search, limit, cursor, count }) => {
    const { orgId, role, sources } = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const matching = and(
      isAskable(orgId, role),
      sources === null ? undefined : inArray(dataSources.id, [...sources]),
      nameContains(search),
    )
    const rows = await db
      .select()
      .from(dataSources)
      .where(and(matching, after === undefined ? undefined : gt(dataSources.name, after)))
      .orderBy(asc(dataSources.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(dataSources).where(matching),
    )
    return {
      data_sources: page.rows.map((row) => ({
        id: sourceIdOf(row.name),
        name: row.title,
        minimum_role: row.minimumRole,
        filters: row.configuration?.filter_schema ?? {},
        targets: row.configuration?.connection_config.embedding_configs.map(({ label }) => label) ?? [],
        description: row.description,
      })),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
