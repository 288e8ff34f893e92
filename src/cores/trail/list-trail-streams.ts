import { eq } from '../../../db/drizzle.ts'
import { trailStreams } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { presentStream } from './trail-stream-rows.ts'

export const listTrailStreams: Verb<'listTrailStreams'> = list(
  { rows: 'trail_streams', desc: [trailStreams.id] },
  async ({ db, orgId, page }) =>
    page({
      from: () => db.select().from(trailStreams),
      where: eq(trailStreams.orgId, orgId),
      key: ({ id }) => [id],
      present: (rows) => rows.map(presentStream),
    }),
)
