/** The lease of a worker: each claim of a pipeline has a fence that none had before. */
import { pipelineRuns } from '../../../db/schema.ts'
import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'
import { leased } from '../work/index.ts'

export const runLease = leased(pipelineRuns, {
  heldBy: ['orgId', 'id', 'fence'],
  until: 'leaseUntil',
  seconds: PIPELINE_LEASE_SECONDS,
})
