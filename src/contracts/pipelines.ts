/** Pipelines: scheduled jobs of an app. The server makes the due run, a connected worker claims it and reports. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { ClaimId, DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { PIPELINE_WAIT_MAX_SECONDS } from './limits.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import {
  CONCURRENCY_POLICIES,
  PIPELINE_RUN_CODES,
  PIPELINE_RUN_STATES,
  PIPELINE_TROUBLES,
  type PipelineRunCode,
} from './pipeline-states.ts'

const RunCode = z.enum(Object.keys(PIPELINE_RUN_CODES) as [PipelineRunCode, ...PipelineRunCode[]])

/** Kebab case, as workers name them in code. */
const PipelineName = z
  .string()
  .regex(/^[a-z](?:[a-z0-9-]{0,58}[a-z0-9])?$/, 'must be a lowercase letter, then up to 59 of a-z, 0-9 and -')

const settings = {
  cron: z.string().trim().max(100).nullable().default(null).describe('Five parts; null: no schedule.'),
  timezone: z.string().max(60).default('UTC'),
  grace_minutes: z
    .int()
    .min(1)
    .max(24 * 60)
    .default(10)
    .describe('How late a run may start.'),
  timeout_minutes: z
    .int()
    .min(1)
    .max(24 * 60)
    .default(60),
  concurrency: z.enum(CONCURRENCY_POLICIES).default('skip').describe('While the run before is not done.'),
  enabled: z.boolean().default(true),
}

const RunMark = z.object({ id: z.string(), state: z.enum(PIPELINE_RUN_STATES), at: Time })

const Pipeline = z.object({
  id: z.string(),
  name: z.string(),
  ...settings,
  trouble: z.enum(PIPELINE_TROUBLES).nullable().describe('Told once, until a run succeeds.'),
  next_due_at: Time.nullable(),
  last_run: RunMark.nullable(),
  recent_runs: z.array(RunMark).describe('The last ones, newest first.'),
})

const PipelineRun = z.object({
  id: z.string(),
  pipeline: z.string(),
  state: z.enum(PIPELINE_RUN_STATES),
  code: RunCode.nullable().describe('Why it failed or was missed.'),
  scheduled: z.boolean().describe('False: somebody started it by hand.'),
  due_at: Time,
  started_at: Time.nullable(),
  ended_at: Time.nullable(),
  worker: z.string().nullable(),
  message: z
    .string()
    .nullable()
    .describe('In the worker’s words; null if you may not read the logs of the app.'),
})

const Worker = z.object({
  name: z.string(),
  connected: z.boolean(),
  last_seen_at: Time,
  pipelines: z.array(z.string()),
})

const pipelines = { service: 'deploy-api', access: 'viewer', errors: ['NOT_FOUND'] } as const
/** Closed to support staff: a job would outlast their session, and starting one runs the customer's program. */
const changing = { ...pipelines, closedToSupport: true } as const
const pipelineId = { ...appAlias, pipeline_id: Id('ppl') }
const runId = { ...appAlias, run_id: Id('prn') }
const fence = { fence: z.int().min(1).describe('From the claim.') }

export const createPipeline = creating({
  ...changing,
  name: 'createPipeline',
  summary: 'Create a pipeline.',
  takesIdempotencyKey: true,
  input: z.object({ ...appAlias, name: PipelineName, ...settings }),
  output: Pipeline,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipelines', success: 201 },
})

export const listPipelines = reading({
  ...pipelines,
  name: 'listPipelines',
  summary: 'List the pipelines of an app, and the workers that run them.',
  input: z.object({ ...appAlias, ...pageInput }),
  output: z.object({ pipelines: z.array(Pipeline), workers: z.array(Worker), ...pageOutput }),
  http: { method: 'get', path: '/api/deploy/apps/{alias}/pipelines' },
})

export const showPipeline = reading({
  ...pipelines,
  name: 'showPipeline',
  summary: 'Retrieve a pipeline.',
  input: z.object(pipelineId),
  output: Pipeline,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}' },
})

export const updatePipeline = updating({
  ...changing,
  name: 'updatePipeline',
  summary: 'Change a pipeline. What is left out stays as it is.',
  input: z.object({
    ...pipelineId,
    cron: z.string().trim().max(100).nullable().optional(),
    timezone: z.string().max(60).optional(),
    grace_minutes: settings.grace_minutes.unwrap().optional(),
    timeout_minutes: settings.timeout_minutes.unwrap().optional(),
    concurrency: z.enum(CONCURRENCY_POLICIES).optional(),
    enabled: z.boolean().optional(),
  }),
  output: Pipeline,
  http: { method: 'patch', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}' },
})

export const removePipeline = removing({
  ...changing,
  name: 'removePipeline',
  summary: 'Remove a pipeline and its history.',
  input: z.object(pipelineId),
  output: Nothing,
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}', success: 204 },
})

export const startPipelineRun = creating({
  ...changing,
  name: 'startPipelineRun',
  summary: 'Start a run of a pipeline now.',
  takesIdempotencyKey: true,
  input: z.object(pipelineId),
  output: PipelineRun,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}/runs', success: 201 },
})

export const listPipelineRuns = reading({
  ...pipelines,
  name: 'listPipelineRuns',
  summary: 'List the runs of a pipeline, newest first.',
  input: z.object({ ...pipelineId, state: z.enum(PIPELINE_RUN_STATES).optional(), ...pageInput }),
  output: z.object({ runs: z.array(PipelineRun), ...pageOutput }),
  http: { method: 'get', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}/runs' },
})

/** For workers: token with `apps:report`, or workload identity. */
const worker = { ...changing, scope: 'apps:report' } as const

export const claimPipelineRun = creating({
  ...worker,
  name: 'claimPipelineRun',
  summary:
    'Say that a worker is here, and claim the next run it can do; or wait for one, and claim it with the next call.',
  input: z.object({
    ...appAlias,
    worker: DisplayName,
    pipelines: z.array(PipelineName).min(1).max(100).describe('Those it can run.'),
    claim_id: ClaimId.optional(),
    wait_seconds: z
      .int()
      .min(0)
      .max(PIPELINE_WAIT_MAX_SECONDS)
      .default(0)
      .describe('If nothing is due, answer only when there is a run to claim, or after so long.'),
  }),
  output: z.object({
    run: PipelineRun.nullable().describe('null: there was none. Claim again.'),
    fence: z.int().nullable().describe('Grows with every claim of the pipeline; pass it to the job.'),
    lease_seconds: z.int().describe('Keep or finish the run within this time, or it is taken for lost.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipeline-runs/claim' },
})

export const keepPipelineRun = updating({
  ...worker,
  name: 'keepPipelineRun',
  summary: 'Keep the claim of a run alive.',
  input: z.object({ ...runId, ...fence }),
  output: z.object({ lease_seconds: z.int() }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipeline-runs/{run_id}/keep' },
})

export const finishPipelineRun = updating({
  ...worker,
  name: 'finishPipelineRun',
  summary: 'Report how a run ended, also if it was taken for lost meanwhile.',
  input: z.object({
    ...runId,
    ...fence,
    succeeded: z.boolean(),
    message: z.string().max(1000).optional(),
  }),
  output: PipelineRun,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipeline-runs/{run_id}/finish' },
})
