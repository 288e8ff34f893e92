/** The lease of a runner. Its fence is its deployment's own: none runs a second time. */
import { deployments } from '../../../db/schema.ts'
import { DEPLOYMENT_LEASE_SECONDS } from '../../contracts/limits.ts'
import { leased } from '../work/index.ts'

export const runnerLease = leased(deployments, {
  heldBy: ['orgId', 'id', 'fence'],
  until: 'leaseUntil',
  seconds: DEPLOYMENT_LEASE_SECONDS,
})
