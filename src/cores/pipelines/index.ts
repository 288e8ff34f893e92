/** What the pipelines core exports. */
export { claimPipelineRun } from './claim-pipeline-run.ts'
export { keepPipelineRun } from './keep-pipeline-run.ts'
export { finishPipelineRun } from './finish-pipeline-run.ts'
export { makeDueRuns } from './make-due-runs.ts'
export { endOverdueRuns } from './end-overdue-runs.ts'
export { recomputeDueTimes } from './recompute-due-times.ts'
export { sweepPipelineRuns } from './sweep-pipeline-runs.ts'
