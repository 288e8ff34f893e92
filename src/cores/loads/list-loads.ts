import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { findSource, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { presentLoad } from './load-rows.ts'

export const listLoads =
  ({ db }: Storage): Handler<'listLoads'> =>
  async (principal, { name, limit, cursor }) => {
    const { orgId } = requireMember(principal)
    const after = readCursor(cursor, 1)
    const source = await findSource(db, orgId, sourceIdOf(name))
    if (!source) throw notFound()
    const found = await db
      .select()
      .from(loads)
      .where(
        and(
          eq(loads.orgId, orgId),
          eq(loads.sourceId, source.id),
          after ? lt(loads.id, after[0]!) : undefined,
        ),
      )
      .orderBy(desc(loads.id))
      .limit(limit + 1)
    const { rows, ...page } = pageOf(found, limit, ({ id }) => [id])
    return { loads: rows.map((load) => presentLoad(load, source)), ...page }
  }
