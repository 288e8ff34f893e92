import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { presentSource, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { lockSource, updateSource } from './change-source.ts'

/** Disabling also hides it; enabling it again does not expose it again. */
export const setDataSourceState =
  ({ db, clock }: Storage): Handler<'setDataSourceState'> =>
  (principal, { source_id, enabled }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(principal)
      const row = await lockSource(tx, orgId, source_id)
      if (row.enabled === enabled) return presentSource(row)
      if (row.preparingUntil !== null) {
        throw new ServiceError('CONFLICT', 'The database is still being created', {
          hint: 'Try again in a moment.',
        })
      }
      const action = enabled ? 'data_source.switched_on' : 'data_source.switched_off'
      await recordAudit(tx, clock, principal, { orgId, action, subject: sourceIdOf(row.name) })
      return presentSource(await updateSource(tx, row, enabled ? { enabled } : { enabled, exposed: false }))
    })
