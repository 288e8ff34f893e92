import { and, eq } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { findSource, sourceIdOf } from '../databases/index.ts'
import { list, type Verb } from '../list.ts'
import { presentLoad } from './load-rows.ts'

export const listLoads: Verb<'listLoads'> = list(
  { rows: 'loads', desc: [loads.id] },
  async ({ db, clock, orgId, page }, { name }) => {
    const source = await findSource(db, orgId, sourceIdOf(name))
    if (!source) throw notFound()
    return page({
      from: () => db.select().from(loads),
      where: and(eq(loads.orgId, orgId), eq(loads.sourceId, source.id)),
      key: (row) => [row.id],
      present: (rows) => rows.map((load) => presentLoad(load, source, clock())),
    })
  },
)
