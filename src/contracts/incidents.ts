/** Incidents: one thing that is wrong with an app, put together from what logs, checks, runs and deployments know of it. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { Check } from './checks.ts'
import { Deployment } from './deployments.ts'
import { field } from './field.ts'
import { Time } from './fields.ts'
import { INCIDENT_LINES, INCIDENT_STATES, INCIDENT_STEPS, type IncidentStep } from './incident-steps.ts'
import { LOG_LEVELS } from './log-levels.ts'
import { LogLine } from './logs.ts'
import { Finding } from './maintenance.ts'
import { reading } from './operation.ts'
import { RUN_STATUSES } from './outcomes.ts'
import { Proposal, ProposedChange } from './proposals.ts'

const Level = z.enum(LOG_LEVELS)
const StepName = z.enum(Object.keys(INCIDENT_STEPS) as [IncidentStep, ...IncidentStep[]])

const hidden = 'null as well if you may not read source and logs.'

const IncidentLog = z.object({
  group_id: z.string(),
  template: z.string(),
  level: Level,
  count: z.int(),
  first_at: Time,
  last_at: Time,
  hours: z
    .array(z.object({ at: Time, lines: z.int() }))
    .describe('Of the last seven days, oldest first; hours without a line are left out.'),
  lines: z.array(LogLine).describe(`The newest, at most ${INCIDENT_LINES}.`),
})

const IncidentProposal = Proposal.extend(ProposedChange.shape)

const SuggestedCheck = z.object({
  name: z.string(),
  pattern: z.string(),
  level: Level,
  window_minutes: z.int(),
})

export const showIncident = reading({
  service: 'deploy-api',
  name: 'showIncident',
  access: 'viewer',
  scope: 'maintenance:read',
  summary:
    'Retrieve an incident: an error of the log, a finding or a check, with all that belongs to it and what you may do next.',
  input: z.object({
    ...appAlias,
    incident_id: field(
      z
        .string()
        .regex(/^(?:lgr|fnd|chk)_[0-9a-z]{25}$/, 'must look like lgr_…, fnd_… or chk_…')
        .describe('Of a group of log lines, of a finding or of a check.'),
      { client: { summary: 'lgr_…, fnd_… or chk_…, from `svc apps logs groups`, findings or checks' } },
    ),
  }),
  output: z.object({
    id: z
      .string()
      .describe('The one address of it: that of its finding; else of its log lines; else of its check.'),
    app: z.string().describe('Its alias.'),
    title: z.string(),
    state: z.enum(INCIDENT_STATES),
    log: IncidentLog.nullable().describe(`null: it is in no log that is kept; ${hidden}`),
    log_timed_out: z.boolean().describe('Its lines could not be counted in time; `log` is null then.'),
    finding: Finding.nullable(),
    proposal: IncidentProposal.nullable().describe('The newest about its finding.'),
    deployments: z.object({
      before: Deployment.nullable().describe('The last that succeeded before it began.'),
      fix: Deployment.nullable().describe('Of the proposal.'),
      roll_back_to: z
        .string()
        .nullable()
        .describe('The revision that a roll back would deploy; null: there is none.'),
    }),
    checks: z.array(Check).describe('Those that look for it.'),
    suggested_check: SuggestedCheck.nullable().describe(
      `What a check for it would look for; null: there is one, or it is in no log; ${hidden}`,
    ),
    run: z
      .object({
        execution_id: z.string(),
        status: z.enum(RUN_STATUSES),
        chip: z.string().nullable(),
        requested_by: z.string().nullable().describe('null: the schedule.'),
        created_at: Time,
      })
      .nullable()
      .describe('The latest run of the maintenance agent since it began.'),
    can: z
      .object({ create_check: z.boolean(), start_run: z.boolean(), roll_back: z.boolean() })
      .describe('What you may do now; the proposal says what you may decide.'),
    run_from: Time.nullable().describe('Until then the cool-down of runs that people start holds.'),
    timeline: z
      .array(
        z.object({
          at: Time,
          step: StepName,
          text: z.string(),
          by: z.string().nullable(),
          id: z.string().nullable().describe('Of the finding, proposal, deployment, run or check.'),
        }),
      )
      .describe('Who did what when, oldest first.'),
  }),
  errors: ['NOT_FOUND', 'RATE_LIMITED', 'TIMEOUT'],
  command: {
    path: 'apps incident',
    summary: 'Show what is known about one error, finding or failing check of an app, oldest step first',
    rows: 'timeline',
    table: 'TIME=at, WHAT=text, by, id',
    notes: [
      '{title}',
      { if: 'proposal', text: 'Proposed: svc apps proposals show {alias} {proposal.id} --diff' },
    ],
    listedBy: 'apps logs groups',
    examples: ['svc apps incident billing lgr_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/incidents/{incident_id}' },
})
