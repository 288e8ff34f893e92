import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { presentSource, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { lockSource, updateSource } from './change-source.ts'

export const setDataSourceExposure =
  ({ db, clock }: Storage): Handler<'setDataSourceExposure'> =>
  (principal, { source_id, exposed, minimum_role }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = await lockAuthor(tx, clock, requireMember(principal), 'admin')
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
      const action = exposed ? 'data_source.exposed' : 'data_source.hidden'
      const subject = exposed ? `${sourceIdOf(row.name)} to ${minimumRole}` : sourceIdOf(row.name)
      await recordAudit(tx, clock, principal, { orgId, action, subject })
      return presentSource(await updateSource(tx, row, { exposed, minimumRole }))
    })

async function requireExposureLimit(tx: Transaction, orgId: string): Promise<void> {
  const [found] = await tx
    .select({ n: count() })
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), eq(dataSources.exposed, true)))
  if (found!.n >= EXPOSED_MAX) throw new ServiceError('EXPOSURE_LIMIT')
}
