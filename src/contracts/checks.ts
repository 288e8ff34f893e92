/** Checks of an app: what is looked at, how often, and when people are told. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { CHECK_METHODS } from './check-methods.ts'
import {
  CHECK_PAUSES,
  CHECK_REASONS,
  CHECK_RESULTS,
  KEPT_SECRET,
  type CheckPause,
  type CheckReason,
} from './check-results.ts'
import { CONDITION_MAX, parseCondition } from './conditions.ts'
import { field, fields } from './field.ts'
import { DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { CHECK } from './limits.ts'
import { LOG_LEVELS } from './log-levels.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

const CheckReasonName = z.enum(Object.keys(CHECK_REASONS) as [CheckReason, ...CheckReason[]])

const CheckPauseName = z.enum(Object.keys(CHECK_PAUSES) as [CheckPause, ...CheckPause[]])

export const CHECKS_PER_APP = 50
export const CHECK_URL_MAX = 2000
const HEADERS_MAX = 20

const Condition = z
  .string()
  .trim()
  .max(CONDITION_MAX)
  .refine((text) => parseCondition(text) !== undefined, 'must be a condition such as [STATUS] == 200')

const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be the name of a header')

const count = ({ min, max }: { readonly min: number; readonly max: number }) => z.int().min(min).max(max)

const lowerCase = (text: string): string => text.toLowerCase()

/** Those that say how a message is framed, or to whom it goes. */
const OUR_HEADERS =
  /^(?:host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|accept-encoding|proxy-.*)$/i

const httpCheck = {
  kind: z.literal('http'),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .max(CHECK_URL_MAX)
    .regex(/^https?:\/\/[^/?#@\\\s]+(?:[/?#]|$)/i, 'must have a host, and no user name or password')
    .describe(`Its query is \`${KEPT_SECRET}\` for those who may not change the check.`),
  method: z.enum(CHECK_METHODS).default('GET'),
  headers: z
    .record(
      HeaderName,
      z
        .string()
        .max(1000)
        .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'),
    )
    .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, `must be at most ${HEADERS_MAX}`)
    .refine((headers) => !Object.keys(headers).some((name) => OUR_HEADERS.test(name)), {
      error: 'must not name how the message is framed (Host, Connection, Content-Length and the like)',
    })
    .refine((headers) => new Set(Object.keys(headers).map(lowerCase)).size === Object.keys(headers).length, {
      error: 'must name each header once',
    })
    .default({})
    .describe(
      `Values are secrets: \`${KEPT_SECRET}\` is returned instead, and keeps the value if sent back.`,
    ),
  body: z
    .string()
    .max(4000)
    .optional()
    .describe(`Of a POST. A secret: \`${KEPT_SECRET}\` is returned instead, and keeps it if sent back.`),
  timeout_ms: count(CHECK.timeoutMs).default(10_000),
  conditions: z.array(Condition).min(1).max(20).default(['[STATUS] < 400']),
}

const HttpCheck = z.strictObject(
  fields(httpCheck, {
    url: {
      label: 'Address',
      hint: 'Anyone who can see the app sees this URL, except its query string. Put secrets into headers.',
      example: 'https://example.com/health',
    },
    timeout_ms: { label: 'Time limit (ms)' },
    conditions: {
      rows: 4,
      hint: 'One in a line; all of them must hold: [STATUS] == 200, [RESPONSE_TIME] < 300, [BODY].status == UP, len([BODY].items) > 0, has([BODY].error) == false, [BODY] == pat(*ok*)',
    },
    headers: {
      rows: 3,
      hint: 'One in a line, as Name: value. Values are secrets and not shown again; [hidden] keeps one.',
      maxLength: 25_000,
    },
    body: { rows: 3, hint: 'Of a POST. It is a secret and not shown again; [hidden] keeps it.' },
  }),
)

const logsCheck = {
  kind: z.literal('logs'),
  pattern: z.string().min(1).max(500).describe('Text, or a regular expression between slashes.'),
  level: z.enum(LOG_LEVELS).default('trace').describe('This level and more severe ones.'),
  window_minutes: count(CHECK.windowMinutes).default(10),
  max_count: count(CHECK.maxCount).default(0).describe('More lines than this fail.'),
}

const LogsCheck = z.strictObject(
  fields(logsCheck, {
    pattern: { label: 'Text or /regular expression/' },
    level: { label: 'Minimum level' },
    window_minutes: { label: 'Window (minutes)' },
    max_count: { label: 'Lines allowed', hint: 'Fails above this number.' },
  }),
)

const judgeCheck = {
  kind: z.literal('judge'),
  question: z
    .string()
    .trim()
    .min(1)
    .max(2000)
    .describe('Answered by the organization’s maintenance model; without one, the check is paused.'),
  window_minutes: count(CHECK.windowMinutes).default(60),
  max_tokens: count(CHECK.maxTokens).default(5_000),
}

const JudgeCheck = z.strictObject(
  fields(judgeCheck, {
    question: {
      rows: 4,
      hint: 'Answered by the organization’s maintenance model, over what the log says, as far as it fits.',
    },
    window_minutes: { label: 'Window (minutes)' },
    max_tokens: { label: 'Tokens per run' },
  }),
)

export const CheckDefinition = z.discriminatedUnion('kind', [HttpCheck, LogsCheck, JudgeCheck])
export type CheckDefinition = z.output<typeof CheckDefinition>

export const MAINTENANCE_WINDOWS_MAX = 20

const moment = z.iso.datetime({ offset: true })

export const MaintenanceWindow = z
  .strictObject({
    from: field(moment, { label: 'From (UTC)' }),
    until: field(moment, { label: 'Until (UTC)' }),
  })
  .refine(({ from, until }) => Date.parse(until) > Date.parse(from), 'must end after it begins')
export type MaintenanceWindow = z.output<typeof MaintenanceWindow>

const settings = fields(
  {
    name: DisplayName,
    definition: CheckDefinition,
    interval_seconds: count(CHECK.intervalSeconds).default(60),
    failure_threshold: count(CHECK.threshold).default(3).describe('So many in a row, and it has failed.'),
    success_threshold: count(CHECK.threshold).default(1).describe('So many in a row, and it passes again.'),
    enabled: z.boolean().default(true),
    maintenance_windows: z
      .array(MaintenanceWindow)
      .max(MAINTENANCE_WINDOWS_MAX)
      .default([])
      .describe('Meanwhile it is not run, and nobody is told.'),
  },
  {
    interval_seconds: {
      label: 'Interval (seconds)',
      hint: `From ${CHECK.intervalSeconds.min} to ${CHECK.intervalSeconds.max}.`,
    },
    failure_threshold: { label: 'Notify after failures', hint: 'Consecutive failures before failing.' },
    success_threshold: { label: 'Recover after passes', hint: 'In a row.' },
  },
)

export const Check = z.object({
  id: z.string(),
  ...settings,
  state: z
    .enum(CHECK_RESULTS)
    .nullable()
    .describe('What people were told last. null: nothing is known yet, or too few failures in a row.'),
  state_since: Time.nullable(),
  paused: CheckPauseName.nullable().describe('Why it is not run, if it is not.'),
  last_run_at: Time.nullable(),
  next_run_at: Time.nullable(),
  recent: z.array(z.enum(CHECK_RESULTS)).describe('The last results, newest last.'),
})

const CheckRun = z.object({
  id: z.string(),
  at: Time,
  result: z.enum(CHECK_RESULTS),
  ms: z.int().nullable().describe('null: in a private network, from which it is not kept.'),
  status: z.int().nullable().describe('HTTP status.'),
  reason: CheckReasonName.nullable(),
  detail: z.string().nullable().describe('The condition that does not hold, or how many lines there were.'),
})

const checks = { service: 'deploy-api', access: 'viewer', errors: ['NOT_FOUND'] } as const
const checkId = {
  ...appAlias,
  check_id: field(Id('chk'), {
    client: { flag: 'check', summary: 'Name or chk_…, from `svc apps checks`', namedBy: 'listChecks' },
  }),
}

export const createCheck = creating({
  ...checks,
  name: 'createCheck',
  summary: 'Create a check.',
  takesIdempotencyKey: true,
  // It would outlast the session, and counts log lines, which support staff may not read.
  closedToSupport: true,
  input: z.object({ ...appAlias, ...settings }),
  output: Check,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/checks', success: 201 },
})

export const listChecks = reading({
  ...checks,
  name: 'listChecks',
  summary: 'List the checks of an app.',
  input: z.object({ ...appAlias, ...countedPageInput }),
  output: z.object({ checks: z.array(Check), ...countedPageOutput }),
  command: {
    path: 'apps checks',
    summary: 'List the checks of an app, with their last results',
    table:
      'name, id, KIND=definition.kind, state, SINCE=state_since, LAST=recent:results, next_run_at, paused:pause',
    examples: ['svc apps checks billing'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/checks' },
})

export const showCheck = reading({
  ...checks,
  name: 'showCheck',
  summary: 'Retrieve a check.',
  input: z.object(checkId),
  output: Check,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/checks/{check_id}' },
})

export const updateCheck = updating({
  ...checks,
  name: 'updateCheck',
  summary: 'Change a check. What is left out stays as it is.',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  input: z.object({
    ...checkId,
    name: settings.name.optional(),
    definition: CheckDefinition.optional(),
    interval_seconds: settings.interval_seconds.unwrap().optional(),
    failure_threshold: settings.failure_threshold.unwrap().optional(),
    success_threshold: settings.success_threshold.unwrap().optional(),
    enabled: z.boolean().optional(),
    maintenance_windows: settings.maintenance_windows
      .unwrap()
      .optional()
      .describe('In place of all that are there.'),
    add_maintenance_window: MaintenanceWindow.optional().describe('Beside those that are there.'),
    remove_maintenance_window: MaintenanceWindow.optional(),
  }),
  output: Check,
  http: { method: 'patch', path: '/api/deploy/apps/{alias}/checks/{check_id}' },
})

export const removeCheck = removing({
  ...checks,
  name: 'removeCheck',
  summary: 'Remove a check and its history.',
  closedToSupport: true,
  input: z.object(checkId),
  output: Nothing,
  command: {
    path: 'apps checks remove',
    confirm: 'This removes the check {check} and its history.',
    done: 'Removed {check_id}',
    examples: ['svc apps checks remove billing Health'],
  },
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/checks/{check_id}', success: 204 },
})

export const runCheck = creating({
  ...checks,
  name: 'runCheck',
  summary: 'Run a check now. Its result counts like any other.',
  closedToSupport: true,
  input: z.object(checkId),
  output: Check,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/checks/{check_id}/run' },
})

export const listCheckRuns = reading({
  ...checks,
  name: 'listCheckRuns',
  summary: 'List the runs of a check, newest first.',
  input: z.object({ ...checkId, result: z.enum(CHECK_RESULTS).optional(), ...countedPageInput }),
  output: z.object({ runs: z.array(CheckRun), ...countedPageOutput }),
  command: {
    path: 'apps checks history',
    table: 'TIME=at, result, status, ms, reason:reason, detail',
    examples: ['svc apps checks history billing Health --result fail'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/checks/{check_id}/runs' },
})
