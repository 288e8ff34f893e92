import { and, asc, eq, gt } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireMember } from '../principal.ts'
import { nameContains, presentSource } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'

export const listDataSources =
  ({ db }: Storage): Handler<'listDataSources'> =>
  async (principal, { search, limit, cursor }) => {
    const { orgId } = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select()
      .from(dataSources)
      .where(
        and(
          eq(dataSources.orgId, orgId),
          nameContains(search),
          after === undefined ? undefined : gt(dataSources.name, after),
        ),
      )
      .orderBy(asc(dataSources.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name])
    return { data_sources: page.rows.map(presentSource), next_cursor: page.next_cursor }
  }
