import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../contracts/limits.ts'
import { presentSource, sourceIdOf } from '../databases/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockSource, updateSource } from './change-source.ts'

export const setDataSourceExposure: Verb<'setDataSourceExposure'> = write(
  { author: 'admin', audit: ['data_source.exposed', 'data_source.hidden'] },
  async ({ tx, orgId, audit }, { source_id, exposed, minimum_role }) => {
    // Before the row: exposures of one organization count one after the other, so that two cannot both be the hundredth.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`exposure of ${orgId}`}, 0))`)
    const row = await lockSource(tx, orgId, source_id)
    const minimumRole = minimum_role ?? row.minimumRole
    if (row.exposed === exposed && row.minimumRole === minimumRole) return presentSource(row)
    if (exposed && !row.enabled) {
      throw new ServiceError('CONFLICT', 'This data source is disabled', {
        hint: 'Enable it first, then expose it.',
      })
    }
    if (exposed && !row.exposed) await requireExposureLimit(tx, orgId)
    await audit(
      exposed ? 'data_source.exposed' : 'data_source.hidden',
      exposed ? `${sourceIdOf(row.name)} to ${minimumRole}` : sourceIdOf(row.name),
    )
    return presentSource(await updateSource(tx, row, { exposed, minimumRole }))
  },
)

async function requireExposureLimit(tx: Transaction, orgId: string): Promise<void> {
  const [found] = await tx
    .select({ n: count() })
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), eq(dataSources.exposed, true)))
  if (found!.n >= EXPOSED_MAX) throw new ServiceError('EXPOSURE_LIMIT')
}
