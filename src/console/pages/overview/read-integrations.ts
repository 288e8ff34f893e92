/** The integrations of the overview, each with how it is. */
import { listIntegrationHealth } from '../../../contracts/deliveries.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Call } from '../../../client/http-client.ts'
import { conditionOf } from '../deliveries/integration-condition.ts'

/** What the last 24 hours lie in. */
const RECENT_DAYS = 2

/** One that has never worked may have failed before that; all days of all of them take three times as long. */
export async function readIntegrations(call: Call) {
  const recent = await call(listIntegrationHealth, { days: RECENT_DAYS }).catch(unlessUnknown)
  return recent && recent.integrations.every((one) => conditionOf(one) !== 'unused')
    ? recent.integrations
    : (await call(listIntegrationHealth, {})).integrations
}

/** A gateway of the version before, in another process while that is upgraded, does not know of days. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'INVALID_REQUEST') return undefined
  throw error
}
