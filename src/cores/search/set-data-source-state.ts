import { ServiceError } from '../../contracts/errors.ts'
import { presentSource, sourceIdOf } from '../databases/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockSource, updateSource } from './change-source.ts'

/** Disabling also hides it; enabling it again does not expose it again. */
export const setDataSourceState: Verb<'setDataSourceState'> = write(
  { audit: ['data_source.switched_on', 'data_source.switched_off'] },
  async ({ tx, orgId, audit }, { source_id, enabled }) => {
    const row = await lockSource(tx, orgId, source_id)
    if (row.enabled === enabled) return presentSource(row)
    if (row.preparingUntil !== null) {
      throw new ServiceError('CONFLICT', 'The database is still being created', {
        hint: 'Try again in a moment.',
      })
    }
    await audit(enabled ? 'data_source.switched_on' : 'data_source.switched_off', sourceIdOf(row.name))
    return presentSource(await updateSource(tx, row, enabled ? { enabled } : { enabled, exposed: false }))
  },
)
