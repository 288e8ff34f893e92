import { ServiceError } from '../../../contracts/errors.ts'
import { releaseTarget } from '../delivery/hold-target.ts'
import { write, type Verb } from '../../verb.ts'
import {
  lockIntegration,
  lockIntegrations,
  presentWithCount,
  updateIntegrationRow,
} from './integration-rows.ts'

/** What waited is sent, the oldest first. */
export const resumeIntegration: Verb<'resumeIntegration'> = write(
  { audit: 'integration.changed' },
  async ({ tx, clock, orgId, audit }, { integration_id }) => {
    await lockIntegrations(tx, orgId)
    const row = await lockIntegration(tx, orgId, integration_id)
    if (row.state === 'active') return presentWithCount(tx, row)
    if (row.state !== 'paused') {
      throw new ServiceError('CONFLICT', 'The integration is not paused', {
        hint: 'Connect it again or turn it on.',
      })
    }
    // Its trouble begins anew: the days that it was paused are none that it failed, and what waited is not to be dropped.
    const resumed = await updateIntegrationRow(tx, row, { state: 'active', failingSince: null })
    await releaseTarget(tx, clock, row)
    await audit('integration.changed', row.name)
    return presentWithCount(tx, resumed)
  },
)
