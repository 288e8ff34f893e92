import { and, eq } from '../../../db/drizzle.ts'
import { trailStreams } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { nameOf } from './trail-stream-rows.ts'

export const removeTrailStream: Verb<'removeTrailStream'> = write(
  { author: 'owner', audit: 'trail_stream.removed' },
  async ({ tx, orgId, audit }, { stream_id }) => {
    const [row] = await tx
      .delete(trailStreams)
      .where(and(eq(trailStreams.orgId, orgId), eq(trailStreams.id, stream_id)))
      .returning()
    if (!row) throw new ServiceError('NOT_FOUND')
    await audit('trail_stream.removed', nameOf(row))
    return {}
  },
)
