/** The maintenance agent: settings of the organization and of each app, its runs and what they read and found. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field, fields } from './field.ts'
import { Time, Timezone } from './fields.ts'
import { Id } from './ids.ts'
import { MAINTENANCE, MAINTENANCE_WAIT_MAX_SECONDS, RUN_EVIDENCE_SHOWN } from './limits.ts'
import { creating, reading, updating } from './operation.ts'
import {
  EVIDENCE_KINDS,
  FINDING_STATES,
  MCP_DECISIONS,
  RUN_MODES,
  RUN_OUTCOMES,
  RUN_REASONS,
  RUN_STATUSES,
  TERMINAL_CODES,
  type RunReason,
} from './outcomes.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'
import { PROTECTED_CLASS_NAMES } from './protected-classes.ts'

const RunReasonName = z.enum(Object.keys(RUN_REASONS) as [RunReason, ...RunReason[]])

const ModelName = z
  .string()
  .regex(/^[^\p{C}\p{Z}]{1,100}$/u, 'must have 1 to 100 visible characters and no blanks')

const Glob = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{C}\\]+$/u, 'must be a pattern of paths such as src/billing/**')
  .refine((glob) => !glob.startsWith('/') && !glob.split('/').includes('..'), 'must be below the source')

const orgId = { org_id: Id('org') }
const executionId = { ...appAlias, execution_id: Id('exec') }

const schedule = {
  nightly_cron: z.string().trim().max(100),
  timezone: z.string(),
  cooldown_hours: z
    .int()
    .min(0)
    .max(24 * 30)
    .describe('Between runs that people start, and before the same finding is reported again.'),
}

const settings = fields(
  {
    model: ModelName,
    ...schedule,
    timezone: Timezone,
    token_allowance: z
      .int()
      .min(0)
      .max(MAINTENANCE.tokenAllowanceMax)
      .describe('Tokens of a day in UTC, for runs and judge checks together.'),
    protected_paths: z
      .array(Glob)
      .max(MAINTENANCE.protectedPathsMax)
      .describe('Paths that no proposal may touch, beside those that are always protected.'),
    allowed_classes: z
      .array(z.enum(PROTECTED_CLASS_NAMES))
      .max(PROTECTED_CLASS_NAMES.length)
      .describe('Classes of protected files that proposals may touch. Only an owner may add one.'),
    mcp_decisions: z
      .enum(MCP_DECISIONS)
      .describe(
        'Whether an agent with `proposals:decide` gets a link to the console, or decides directly. Only an owner may change it, in the console.',
      ),
  },
  {
    model: {
      hint: 'Models are configured by the operator of this service.',
      maxLength: 100,
      client: { value: 'name', summary: 'rules, or a model of your operator' },
    },
    nightly_cron: {
      label: 'Schedule',
      hint: 'Five fields of cron, such as 0 3 * * *',
      client: { flag: 'cron', value: 'fields', summary: 'When it runs, such as "0 3 * * *"' },
    },
    timezone: { client: { value: 'zone', summary: 'Of the schedule, such as Europe/Vienna' } },
    cooldown_hours: {
      label: 'Cool-down in hours',
      hint: 'Between runs that people start, and before the same finding is reported again.',
      client: { flag: 'cooldown', value: 'hours', summary: 'Between runs that people start' },
    },
    token_allowance: {
      label: 'Tokens a day',
      hint: 'Never exceeded. Shared with judge checks; a day begins at midnight UTC.',
      client: { flag: 'tokens', summary: 'Allowance of a day' },
    },
    protected_paths: {
      hint: 'One pattern a line. No proposal may touch them, nor what is always protected: continuous integration, hooks, secrets, lock files and instructions of agents.',
      example: 'src/billing/**',
      rows: 4,
      client: {
        flag: 'protect',
        value: 'glob',
        summary: 'Paths that no proposal may touch; replaces those of before',
        not: { flag: 'no-protect', summary: 'Protect only what is always protected' },
      },
    },
    allowed_classes: {
      label: 'Open to proposals',
      hint: 'Files that run before anybody looks at the app are closed unless an owner opens them here.',
      client: {
        flag: 'allow',
        value: 'class',
        summary: 'Protected files that proposals may touch (owners); replaces those of before',
        not: { flag: 'no-allow', summary: 'Close all of them' },
      },
    },
  },
)

const MaintenanceSettings = z.object({
  enabled: z.boolean(),
  ...settings,
  timezone: z.string(),
  model: ModelName.nullable().describe('null: it was never turned on.'),
  models: z.array(z.object({ name: z.string(), proposes: z.boolean() })).describe('Those to choose from.'),
  next_run_at: Time.nullable(),
  next_runs: z
    .array(Time)
    .default([])
    .describe('The next three times of the schedule; none while it is off.'),
  apps_enabled: z.int(),
  you_decide_from: Time.nullable().describe(
    'You changed something that decides about runs: what they propose until then, another admin approves. null: you did not.',
  ),
})

const MaintenanceRun = z.object({
  execution_id: z.string(),
  app: z.string().describe('Its alias.'),
  status: z.enum(RUN_STATUSES),
  terminal_code: z
    .string()
    .nullable()
    .describe(`null until it has ended; ${TERMINAL_CODES.join(', ')}.`),
  outcome: z.enum(RUN_OUTCOMES).nullable(),
  chip: z.string().nullable().describe('The outcome in words.'),
  exit_code: z.int().nullable().describe('Of the client.'),
  reason: RunReasonName.nullable(),
  mode: z.enum(RUN_MODES),
  requested_by: z
    .object({ user_id: z.string().nullable(), name: z.string() })
    .nullable()
    .describe('null: the schedule.'),
  via: z.enum(['console', 'cli', 'api', 'mcp']).nullable(),
  model: z.string(),
  tokens: z.int(),
  evidence_read: z.int().describe('How many references it read.'),
  base_revision: z.string().nullable(),
  summary: z.string().nullable().describe('null as well if you may not read source and logs.'),
  fingerprint: z.string().nullable(),
  proposal_id: z.string().optional(),
  undone_by: z.string().nullish().describe('The revision whose push has undone that proposal’s change.'),
  created_at: Time,
  started_at: Time.nullable(),
  ended_at: Time.nullable(),
})

const RunStep = z.object({
  number: z.int(),
  tool: z.string().nullable().describe('null: a question to the model.'),
  result: z.string().describe('`ok`, or a code.'),
  tokens: z.int(),
  ms: z.int(),
  at: Time,
  request_sha256: z.string(),
  result_sha256: z.string(),
})

const Evidence = z.object({
  ref: z.string().nullable().describe('null if you may not read source and logs.'),
  kind: z.enum(EVIDENCE_KINDS),
  location: z.string().nullable().describe('As `ref`.'),
  from_line: z.int().nullable(),
  to_line: z.int().nullable(),
  sha256: z.string(),
  pinned: z.boolean().describe('Cited, and therefore kept.'),
})

export const Finding = z.object({
  id: z.string(),
  app: z.string().describe('Its alias.'),
  fingerprint: z.string(),
  kind: z.string(),
  state: z.enum(FINDING_STATES),
  summary: z.string().nullable().describe('null if you may not read source and logs.'),
  location: z.string().nullable(),
  execution_id: z.string().describe('The run that found it last.'),
  evidence: z.array(z.string()).describe('References of that run.'),
  times_found: z.int(),
  first_found_at: Time,
  last_found_at: Time,
  reopened_by: z
    .string()
    .nullable()
    .describe('The revision whose push undid its repair; null: it is open for another reason, or not.'),
})

const AppMaintenance = z.object({
  app: z.string().describe('Its alias.'),
  settings: z.object({ enabled: z.boolean() }),
  model: z.string().nullable(),
  ...schedule,
  next_run_at: Time.nullable(),
  manual_run_from: Time.nullable().describe('Until then the cool-down holds; null: now.'),
  latest_run: MaintenanceRun.nullable(),
  open_findings: z.int(),
  open_proposals: z.int().describe('Those that a person can do something about: ready, stale or failed.'),
})

const reads = {
  service: 'deploy-api',
  access: 'viewer',
  scope: 'maintenance:read',
  errors: ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND'],
} as const
/** Closed to support staff: what they turn on or start would outlast their session. */
const changes = { ...reads, access: 'admin', scope: 'maintenance:admin', closedToSupport: true } as const

export const showMaintenanceSettings = reading({
  ...reads,
  name: 'showMaintenanceSettings',
  summary: 'Retrieve the maintenance settings of an organization.',
  input: z.object(orgId),
  output: MaintenanceSettings,
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/deploy/orgs/{org_id}/maintenance-agent' },
})

export const updateMaintenanceSettings = updating({
  ...changes,
  name: 'updateMaintenanceSettings',
  summary:
    'Turn the maintenance agent of an organization on or off, and change its settings. What is left out stays as it is. Turning it on turns on no app; turning it off turns off every app, and stops what runs.',
  input: z.object({
    ...orgId,
    enabled: field(z.boolean().optional(), {
      client: {
        flag: 'enable',
        summary: 'Turn it on; the first time with --model',
        not: { flag: 'disable', summary: 'Turn it off for every app' },
      },
    }),
    ...z.object(settings).partial().shape,
  }),
  output: MaintenanceSettings,
  errors: ['NOT_FOUND'],
  command: {
    path: 'apps maintenance settings',
    summary: 'Show the maintenance settings of the organization, or change them (admin or higher)',
    options: [
      'enabled',
      'model',
      'nightly_cron',
      'timezone',
      'cooldown_hours',
      'token_allowance',
      'protected_paths',
      'allowed_classes',
    ],
    fields: [
      "enabled, model=model|'none', models to choose=models.name:list|'none'",
      'cadence={nightly_cron} ({timezone}), next run=next_run_at, cool-down={cooldown_hours} h',
      "tokens a day=token_allowance, protected paths=protected_paths:list|'none'",
      "open to proposals=allowed_classes:list|'none', decisions of agents=mcp_decisions, apps on=apps_enabled",
    ],
    notes: [
      {
        if: 'you_decide_from',
        text: 'You changed something: what runs propose until {you_decide_from}, another admin approves.',
      },
    ],
    examples: [
      'svc apps maintenance settings',
      'svc apps maintenance settings --enable --model rules --timezone Europe/Vienna',
    ],
  },
  http: { method: 'put', path: '/api/deploy/orgs/{org_id}/maintenance-agent' },
})

export const showMaintenanceUsage = reading({
  ...reads,
  name: 'showMaintenanceUsage',
  summary: 'Retrieve what the maintenance agent and judge checks used, and what became of proposals.',
  input: z.object(orgId),
  output: z.object({
    today: z.object({
      day: z.iso.date(),
      allowance: z.int(),
      spent: z.int().describe('Including what a provider used beyond what it was allowed to.'),
      reserved: z.int(),
      outage: z
        .int()
        .describe('Of what was spent: requests that a provider which was down failed to answer.'),
    }),
    days: z.array(z.object({ day: z.iso.date(), tokens: z.int() })).describe('The last 30, oldest first.'),
    runs: z.int().describe('Of the last 30 days, as all that follows.'),
    run_tokens: z.int(),
    proposals_decided: z.int(),
    proposals_accepted: z.int(),
    acceptance_rate: z.number().nullable().describe('null: none was decided.'),
    tokens_per_accepted_proposal: z.int().nullable().describe('null: none was accepted.'),
  }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/deploy/orgs/{org_id}/maintenance-agent/usage' },
})

export const listAppMaintenance = reading({
  ...reads,
  name: 'listAppMaintenance',
  summary: 'List apps with their maintenance: on or off, the latest run, and open proposals.',
  input: z.object({
    ...orgId,
    enabled: z.stringbool().optional().describe('Only apps where it is on, or off.'),
    ...countedPageInput,
  }),
  output: z.object({
    apps: z.array(
      z.object({
        app: z.string(),
        name: z.string(),
        enabled: z.boolean(),
        latest_run: MaintenanceRun.nullable(),
        open_findings: z.int(),
        open_proposals: z.int(),
      }),
    ),
    ...countedPageOutput,
  }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/deploy/orgs/{org_id}/maintenance-agent/apps' },
})

const APP_MAINTENANCE_FIELDS = [
  'app, enabled=settings.enabled, model, cadence={nightly_cron} ({timezone}), next run=next_run_at',
  'cool-down={cooldown_hours} h',
  'latest run={latest_run.execution_id} {latest_run.chip|latest_run.status}, {latest_run.created_at}',
  'open findings=open_findings, open proposals=open_proposals',
]

export const showAppMaintenance = reading({
  ...reads,
  name: 'showAppMaintenance',
  summary: 'Retrieve the maintenance settings of an app, and its latest run.',
  input: z.object(appAlias),
  output: AppMaintenance,
  command: {
    path: 'apps maintenance status',
    summary: 'Show whether the maintenance agent is on for an app, and its latest run',
    fields: APP_MAINTENANCE_FIELDS,
    listedBy: 'apps list',
    examples: ['svc apps maintenance status shop', 'svc apps maintenance status shop --json'],
  },
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/maintenance-agent' },
})

export const updateAppMaintenance = updating({
  ...changes,
  name: 'updateAppMaintenance',
  summary: 'Turn the maintenance agent of an app on or off. Turning it off stops what runs.',
  input: z.object({ ...appAlias, enabled: z.boolean() }),
  output: AppMaintenance,
  command: [
    {
      path: 'apps maintenance enable',
      summary: 'Turn the maintenance agent of an app on (admin or higher)',
      always: { enabled: true },
      confirm:
        'This turns the maintenance agent of {alias} on. It reads logs and source every night, and spends tokens.',
      fields: APP_MAINTENANCE_FIELDS,
      listedBy: 'apps list',
      examples: ['svc apps maintenance enable shop --yes'],
    },
    {
      path: 'apps maintenance disable',
      summary: 'Turn the maintenance agent of an app off; a run in progress is stopped (admin or higher)',
      always: { enabled: false },
      confirm:
        'This turns the maintenance agent of {alias} off. A run in progress is stopped. Its history stays.',
      fields: APP_MAINTENANCE_FIELDS,
      listedBy: 'apps list',
      examples: ['svc apps maintenance disable shop --yes'],
    },
  ],
  http: { method: 'put', path: '/api/deploy/deployments/{alias}/maintenance-agent' },
})

export const startMaintenanceRun = creating({
  ...changes,
  name: 'startMaintenanceRun',
  summary: 'Start a maintenance run. While another run holds the app, it ends as skipped.',
  scope: 'maintenance:run',
  input: z.object({
    ...appAlias,
    mode: z.enum(RUN_MODES).default('manual'),
    idempotency_key: z
      .string()
      .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters')
      .optional()
      .describe('Also as the header `Idempotency-Key`. For good: the same key never starts a second run.'),
  }),
  output: MaintenanceRun.extend({ replayed: z.boolean().describe('An earlier request had this key.') }),
  errors: ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/deploy/deployments/{alias}/maintenance-agent/runs', success: 201 },
})

export const listMaintenanceRuns = reading({
  ...reads,
  name: 'listMaintenanceRuns',
  summary: 'List the maintenance runs of an app, newest first.',
  input: z.object({ ...appAlias, outcome: z.enum(RUN_OUTCOMES).optional(), ...countedPageInput }),
  output: z.object({ runs: z.array(MaintenanceRun), ...countedPageOutput }),
  command: {
    path: 'apps maintenance runs',
    table: 'execution_id, status, terminal_code, tokens, created_at',
    listedBy: 'apps list',
    examples: ['svc apps maintenance runs shop --limit 5'],
  },
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/maintenance-agent/runs' },
})

export const showMaintenanceRun = reading({
  ...reads,
  name: 'showMaintenanceRun',
  summary: 'Retrieve a maintenance run: its status, its steps and what it read.',
  input: z.object({
    ...executionId,
    wait: z.coerce
      .number()
      .int()
      .min(0)
      .max(MAINTENANCE_WAIT_MAX_SECONDS)
      .default(0)
      .describe('Seconds: answer only when the status has changed, or after so long.'),
    status: z.enum(RUN_STATUSES).optional().describe('Known already: wait only while it is this one.'),
  }),
  output: MaintenanceRun.extend({
    steps: z.array(RunStep),
    evidence: z
      .array(Evidence)
      .describe(`At most ${RUN_EVIDENCE_SHOWN}, those that are cited first; \`evidence_read\` counts all.`),
    findings: z.array(z.object({ id: z.string(), kind: z.string(), fingerprint: z.string() })),
  }),
  errors: ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND', 'RATE_LIMITED'],
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/maintenance-agent/runs/{execution_id}' },
})

/** Closed to support staff: it is source and logs. */
export const showRunEvidence = reading({
  ...reads,
  name: 'showRunEvidence',
  summary: 'Retrieve the exact lines that a maintenance run read, with their SHA-256.',
  closedToSupport: true,
  input: z.object({ ...executionId, ref: z.string().min(1).max(1200) }),
  output: Evidence.extend({ text: z.string().nullable() }),
  http: {
    method: 'get',
    path: '/api/deploy/deployments/{alias}/maintenance-agent/runs/{execution_id}/evidence/{ref}',
  },
})

/** Closed to agents as well: a model has written it, and hostile lines may have told it what. */
export const showRunStep = reading({
  service: 'deploy-api',
  access: 'viewer',
  errors: ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND'],
  name: 'showRunStep',
  summary: 'Retrieve one step of a maintenance run with its transcript, which is kept for 30 days.',
  closedToSupport: true,
  input: z.object({ ...executionId, number: z.coerce.number().int().min(1).max(100_000) }),
  output: RunStep.extend({
    request: z.string().nullable().describe('As it was called for. null: no longer kept.'),
    answer: z
      .string()
      .nullable()
      .describe('What the tool answered, or the model said. null: no longer kept.'),
  }),
  http: {
    method: 'get',
    path: '/api/deploy/deployments/{alias}/maintenance-agent/runs/{execution_id}/steps/{number}',
  },
})

export const listFindings = reading({
  ...reads,
  name: 'listFindings',
  summary: 'List the findings of an app, newest first.',
  input: z.object({ ...appAlias, state: z.enum(FINDING_STATES).optional(), ...countedPageInput }),
  output: z.object({ findings: z.array(Finding), ...countedPageOutput }),
  command: {
    path: 'apps findings',
    summary: 'List what the maintenance agent found wrong with an app',
    table:
      'FINDING=id, state, UNDONE BY=reopened_by, kind, WHERE=location, FOUND=times_found, LAST=last_found_at, summary',
    listedBy: 'apps list',
    examples: ['svc apps findings shop', 'svc apps findings shop --state open --json'],
  },
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/maintenance-agent/findings' },
})

export const showFinding = reading({
  ...reads,
  name: 'showFinding',
  summary: 'Retrieve a finding.',
  input: z.object({ ...appAlias, finding_id: Id('fnd') }),
  output: Finding,
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/maintenance-agent/findings/{finding_id}' },
})
