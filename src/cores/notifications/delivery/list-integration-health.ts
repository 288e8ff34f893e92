import { read, type Verb } from '../../verb.ts'
import { countDeliveries } from './outcome-counts.ts'
import { readIntegrationHealth } from './read-integration-health.ts'

export const listIntegrationHealth: Verb<'listIntegrationHealth'> = read(
  async ({ db, clock, orgId }, { days }) => {
    const { integrations } = await countDeliveries(db, orgId, clock(), { days, integrationDays: days })
    return readIntegrationHealth(db, orgId, integrations)
  },
)
