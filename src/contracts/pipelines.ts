/** Pipelines: scheduled jobs of an app. The server makes the due run, a connected worker claims it and reports. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { ClaimId, DisplayName, Nothing, Time, Timezone } from './fields.ts'
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
const PipelineName = field(
  z
    .string()
    .regex(
      /^[a-z](?:[a-z0-9-]{0,58}[a-z0-9])?$/,
      'must be a lowercase letter, then up to 59 of a-z, 0-9 and -',
    ),
  {
    hint: 'As your worker calls it: lowercase letters, digits and hyphens. Cannot be changed later.',
    example: 'nightly-report',
    maxLength: 60,
  },
)

const minutes = z
  .int()
  .min(1)
  .max(24 * 60)

const settings = {
  cron: field(z.string().trim().max(100), {
    label: 'Schedule',
    hint: 'Five parts: minute, hour, day, month, weekday. `0 3 * * *` is every day at 03:00. Leave empty to run it manually only.',
    client: { value: 'schedule', summary: 'Five parts, such as "0 3 * * *"; "" for none' },
  })
    .nullable()
    .default(null)
    .describe('Five parts; null: no schedule.'),
  timezone: field(Timezone, { hint: 'When the clocks change, a daily run still comes once.' }).default('UTC'),
  grace_minutes: field(minutes, {
    label: 'Grace, in minutes',
    hint: 'How late a run may start before it counts as missed.',
    client: { flag: 'grace', value: 'minutes', summary: 'How late a run may start' },
  })
    .default(10)
    .describe('How late a run may start.'),
  timeout_minutes: field(minutes, {
    label: 'Time-out, in minutes',
    hint: 'A run that takes longer has failed.',
    client: { value: 'minutes', summary: 'How long a run may take' },
  }).default(60),
  concurrency: field(z.enum(CONCURRENCY_POLICIES), {
    label: 'If the previous run is still running',
    client: { value: 'policy', summary: 'If the previous run is still running' },
  })
    .default('skip')
    .describe('While the run before is not done.'),
  enabled: field(z.boolean(), {
    label: 'Run by its schedule',
    hint: 'Off: manual runs only, and nobody is notified.',
    client: {
      flag: 'enable',
      summary: 'Run it by its schedule',
      not: { flag: 'disable', summary: 'Stop running it by its schedule' },
    },
  }).default(true),
}

const RunMark = z.object({ id: z.string(), state: z.enum(PIPELINE_RUN_STATES), at: Time })

const Pipeline = z.object({
  id: z.string(),
  name: z.string(),
  ...settings,
  timezone: z.string(),
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
const pipelineId = {
  ...appAlias,
  pipeline_id: field(Id('ppl'), {
    client: {
      flag: 'pipeline',
      summary: 'Name or ppl_…, from `svc apps pipelines`',
      namedBy: 'listPipelines',
    },
  }),
}
const runId = { ...appAlias, run_id: Id('prn') }
const fence = { fence: z.int().min(1).describe('From the claim.') }

const PIPELINE_TABLE =
  'name, id, SCHEDULE=cron, TIME ZONE=timezone, enabled, trouble, LAST=recent_runs:runs, next_due_at'
const RUN_TABLE = 'RUN=id, state, code, due_at, started_at, ended_at, worker, message'

export const createPipeline = creating({
  ...changing,
  name: 'createPipeline',
  summary: 'Create a pipeline.',
  takesIdempotencyKey: true,
  input: z.object({
    ...appAlias,
    name: field(PipelineName, {
      client: { flag: 'pipeline', summary: 'Lowercase letter, then up to 59 of a-z, 0-9 and -' },
    }),
    ...settings,
  }),
  output: Pipeline,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'apps pipelines add',
    summary: 'Add a scheduled job; your worker runs it',
    arguments: ['alias', 'name'],
    options: ['cron', 'timezone', 'grace_minutes', 'timeout_minutes', 'concurrency'],
    table: PIPELINE_TABLE,
    examples: [
      'svc apps pipelines add billing nightly --cron "0 3 * * *" --timezone Europe/Berlin',
      'svc apps pipelines add billing import --concurrency queue',
    ],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipelines', success: 201 },
})

export const listPipelines = reading({
  ...pipelines,
  name: 'listPipelines',
  summary: 'List the pipelines of an app, and the workers that run them.',
  input: z.object({ ...appAlias, ...pageInput }),
  output: z.object({ pipelines: z.array(Pipeline), workers: z.array(Worker), ...pageOutput }),
  command: {
    path: 'apps pipelines',
    summary: 'List the scheduled jobs of an app',
    table: PIPELINE_TABLE,
    examples: ['svc apps pipelines billing'],
  },
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
    cron: settings.cron.unwrap().optional(),
    timezone: settings.timezone.unwrap().optional(),
    grace_minutes: settings.grace_minutes.unwrap().optional(),
    timeout_minutes: settings.timeout_minutes.unwrap().optional(),
    concurrency: settings.concurrency.unwrap().optional(),
    enabled: settings.enabled.unwrap().optional(),
  }),
  output: Pipeline,
  command: {
    path: 'apps pipelines edit',
    summary: 'Change a scheduled job, or turn it on or off',
    table: PIPELINE_TABLE,
    examples: [
      'svc apps pipelines edit billing nightly --cron "30 4 * * *"',
      'svc apps pipelines edit billing nightly --disable',
    ],
  },
  http: { method: 'patch', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}' },
})

export const removePipeline = removing({
  ...changing,
  name: 'removePipeline',
  summary: 'Remove a pipeline and its history.',
  input: z.object(pipelineId),
  output: Nothing,
  command: {
    path: 'apps pipelines remove',
    summary: 'Remove a scheduled job and its runs',
    confirm: 'This removes {pipeline} and its runs.',
    done: 'Removed {pipeline}',
    examples: ['svc apps pipelines remove billing nightly --yes'],
  },
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
  command: {
    path: 'apps pipelines run',
    summary: 'Start a run now',
    table: RUN_TABLE,
    examples: ['svc apps pipelines run billing nightly'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/pipelines/{pipeline_id}/runs', success: 201 },
})

export const listPipelineRuns = reading({
  ...pipelines,
  name: 'listPipelineRuns',
  summary: 'List the runs of a pipeline, newest first.',
  input: z.object({ ...pipelineId, state: z.enum(PIPELINE_RUN_STATES).optional(), ...pageInput }),
  output: z.object({ runs: z.array(PipelineRun), ...pageOutput }),
  command: {
    path: 'apps pipelines runs',
    summary: 'List the runs of a scheduled job, newest first',
    table: RUN_TABLE,
    examples: ['svc apps pipelines runs billing nightly --state failed'],
  },
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
