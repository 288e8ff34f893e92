import { read, type Verb } from '../../verb.ts'
import { countDeliveries } from './outcome-counts.ts'
import { HEALTH_DAYS, readIntegrationHealth } from './read-integration-health.ts'

export const listIntegrationHealth: Verb<'listIntegrationHealth'> = read(async ({ db, clock, orgId }) => {
  const week = { days: HEALTH_DAYS, integrationDays: HEALTH_DAYS }
  const { integrations } = await countDeliveries(db, orgId, clock(), week)
  return readIntegrationHealth(db, orgId, integrations)
})
