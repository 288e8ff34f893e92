/** What one process grants those who search logs: no organization takes all there is. */
import { FAIR_QUEUES, type CountedRules } from '../../contracts/fair-queues.ts'
import { createTurns } from '../work/index.ts'

export type LogReads = ReturnType<typeof createLogReads>

export const createLogReads = (searches: CountedRules = FAIR_QUEUES.logSearches) => ({
  searches: createTurns(searches),
})
