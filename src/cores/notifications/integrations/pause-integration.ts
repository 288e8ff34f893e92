import { ServiceError } from '../../../contracts/errors.ts'
import { holdTarget } from '../delivery/hold-target.ts'
import { write, type Verb } from '../../verb.ts'
import {
  lockIntegration,
  lockIntegrations,
  presentWithCount,
  updateIntegrationRow,
} from './integration-rows.ts'

/** Its deliveries wait; turned off, they would be dropped. */
export const pauseIntegration: Verb<'pauseIntegration'> = write(
  { audit: 'integration.changed' },
  async ({ tx, clock, orgId, audit }, { integration_id }) => {
    await lockIntegrations(tx, orgId)
    const row = await lockIntegration(tx, orgId, integration_id)
    if (row.state === 'paused') return presentWithCount(tx, row)
    if (row.state !== 'active') {
      throw new ServiceError('CONFLICT', 'Only an active integration can be paused', {
        hint: 'Nothing waits for it: what comes is dropped until it is turned on.',
      })
    }
    const paused = await updateIntegrationRow(tx, row, { state: 'paused' })
    await holdTarget(tx, clock, row)
    await audit('integration.changed', row.name)
    return presentWithCount(tx, paused)
  },
)
