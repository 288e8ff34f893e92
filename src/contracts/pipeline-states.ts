/** The closed lists of pipelines and their runs. Plain constants: the client `svc` loads this file and no zod. */

export const CONCURRENCY_POLICIES = ['allow', 'skip', 'queue'] as const
export type ConcurrencyPolicy = (typeof CONCURRENCY_POLICIES)[number]

export const PIPELINE_RUN_STATES = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'skipped',
  'missed',
  'host_offline',
] as const
export type PipelineRunState = (typeof PIPELINE_RUN_STATES)[number]

export const PIPELINE_TROUBLES = ['failed', 'missed', 'host_offline'] as const
export type PipelineTrouble = (typeof PIPELINE_TROUBLES)[number]

/** Why a run failed or was missed. */
export const PIPELINE_RUN_CODES = {
  REPORTED: 'The worker reported a failure',
  TIMED_OUT: 'It took longer than its time-out',
  WORKER_LOST: 'Its worker was not heard from any more; the job may still be running',
  NOT_CLAIMED: 'A worker was connected, but none claimed it within the grace',
  SERVER_DOWN: 'The server itself was not running at the scheduled time',
} as const
export type PipelineRunCode = keyof typeof PIPELINE_RUN_CODES
