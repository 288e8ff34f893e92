import type { Handler } from '../../../contracts/operations.ts'
import type { Storage } from '../../dependencies.ts'
import { requireMember } from '../../principal.ts'
import { countDeliveries } from './outcome-counts.ts'
import { HEALTH_DAYS, readIntegrationHealth } from './read-integration-health.ts'

export const listIntegrationHealth =
  ({ db, clock }: Storage): Handler<'listIntegrationHealth'> =>
  async (who) => {
    const { orgId } = requireMember(who)
    const week = { days: HEALTH_DAYS, integrationDays: HEALTH_DAYS }
    const { integrations } = await countDeliveries(db, orgId, clock(), week)
    return readIntegrationHealth(db, orgId, integrations)
  }
