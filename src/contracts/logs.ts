/** Logs of apps. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { Time, TIME_EXAMPLE } from './fields.ts'
import { Id } from './ids.ts'
import { LOG_WAIT_SECONDS, LOGS_MAX_BYTES } from './limits.ts'
import { LOG_LEVELS } from './log-levels.ts'
import { creating, reading } from './operation.ts'
import { ageOutput, pageInput, pageOutput } from './paging.ts'

/** OTLP 1.x, 2.2: the answer has the type of the request. */
const OTLP_TYPES = ['application/x-protobuf', 'application/json'] as const

const Level = z.enum(LOG_LEVELS)

/** Logs are readable from developer, or by whoever builds or maintains the app. */
const logs = { service: 'deploy-api', access: 'viewer', errors: ['NOT_FOUND'] } as const

export const LogLine = z.object({
  id: z.string(),
  at: Time,
  level: Level,
  text: z.string(),
  service: z.string().nullable(),
  trace_id: z.string().nullable(),
  group_id: z.string(),
})

const LogGroup = z.object({
  id: z.string(),
  template: z.string().describe('What its lines share; `<n>`, `<id>` and the like stand for what differs.'),
  level: Level,
  count: z.int(),
  first_at: Time,
  last_at: Time,
  sample_id: z.string().describe('A line of it.'),
})

const since = (fallback: string) =>
  field(z.iso.datetime({ offset: true }).optional().describe(`Default: ${fallback}.`), {
    client: { summary: `15m, 2h, 1d, or a time ${TIME_EXAMPLE}`, ago: true },
  })

const window = {
  until: field(z.iso.datetime({ offset: true }).optional(), {
    client: { summary: 'End time, in the same form', ago: true },
  }),
  level: Level.optional().describe('This level and more severe ones.'),
}

export const pushLogs = creating({
  ...logs,
  name: 'pushLogs',
  summary: 'Send log lines as NDJSON: one JSON object or one plain line each.',
  input: z.object({ ...appAlias, body: z.instanceof(Uint8Array) }),
  output: z.object({
    accepted: z.int(),
    rejected: z.int().describe('Lines that could not be read.'),
    dropped: z.int().describe('Lines that were not stored because the logs of the app are full.'),
  }),
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  scope: 'apps:report',
  durability: 'local',
  closedToSupport: true,
  http: {
    method: 'post',
    path: '/api/deploy/apps/{alias}/logs',
    takes: { type: 'application/x-ndjson', maxBytes: LOGS_MAX_BYTES },
  },
})

export const exportLogs = creating({
  ...logs,
  name: 'exportLogs',
  summary: 'Send log records as OpenTelemetry exporters do (OTLP over HTTP), with the token of an app.',
  input: z.object({ content_type: z.string(), body: z.instanceof(Uint8Array) }),
  output: z.object({ content_type: z.string(), body: z.instanceof(Uint8Array) }),
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  scope: 'apps:report',
  durability: 'local',
  closedToSupport: true,
  http: {
    method: 'post',
    path: '/v1/logs',
    takes: { type: OTLP_TYPES, maxBytes: LOGS_MAX_BYTES },
    gives: OTLP_TYPES,
  },
})

export const listLogs = reading({
  ...logs,
  name: 'listLogs',
  scope: 'maintenance:read',
  mayBeOld: true,
  summary: 'List log lines, newest first; or follow them with `after`.',
  input: z.object({
    ...appAlias,
    since: since('everything that is kept, seven days'),
    ...window,
    text: field(z.string().max(200).optional().describe('Part of the line, ignoring case.'), {
      client: { flag: 'grep', summary: 'Lines that contain this text, ignoring case' },
    }),
    group_id: field(Id('lgr').optional(), {
      client: 'Lines of a group, from `svc apps logs groups`',
    }),
    after: Id('lgl')
      .optional()
      .describe(
        '`after` of an earlier answer: what arrived since, in the order of arrival. For following a log.',
      ),
    wait_seconds: z.coerce
      .number()
      .int()
      .min(0)
      .max(LOG_WAIT_SECONDS)
      .default(0)
      .describe('With `after`: how long to wait for lines if there are none yet.'),
    ...pageInput,
  }),
  output: z.object({
    lines: z.array(LogLine),
    after: z.string().describe('Pass it as `after` to read what arrives from now on.'),
    ...pageOutput,
    ...ageOutput,
  }),
  errors: ['NOT_FOUND', 'RATE_LIMITED', 'TIMEOUT'],
  closedToSupport: true,
  command: {
    path: 'apps logs',
    summary: 'Show the newest log lines of an app, the last one at the bottom',
    options: ['since', 'until', 'level', 'group_id', 'text'],
    examples: [
      'svc apps logs billing --since 1h --level error',
      'svc apps logs billing --grep "card declined" --follow',
      'svc apps logs billing --since 2d --until 1d --group lgr_0mwhkcyh5nlh1pqqssy5gj19q',
    ],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/logs' },
})

export const listLogGroups = reading({
  ...logs,
  name: 'listLogGroups',
  scope: 'maintenance:read',
  mayBeOld: true,
  summary: 'List groups of similar log lines, the most frequent first.',
  input: z.object({ ...appAlias, since: since('a day ago'), ...window, ...pageInput }),
  output: z.object({ groups: z.array(LogGroup), ...pageOutput, ...ageOutput }),
  errors: ['NOT_FOUND', 'RATE_LIMITED', 'TIMEOUT'],
  closedToSupport: true,
  command: {
    path: 'apps logs groups',
    summary: 'List groups of similar log lines of an app, the most frequent first',
    table: 'GROUP=id, level, LINES=count, first_at, last_at, PATTERN=template',
    examples: ['svc apps logs groups billing --since 1d --level error'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/logs/groups' },
})

export const summarizeLogs = reading({
  ...logs,
  name: 'summarizeLogs',
  scope: 'maintenance:read',
  mayBeOld: true,
  summary: 'Count log lines by level and time, and what was dropped.',
  input: z.object({ ...appAlias, since: since('a day before `until`'), until: window.until }),
  output: z.object({
    ...ageOutput,
    step_seconds: z.int(),
    buckets: z.array(z.object({ at: Time, counts: z.partialRecord(Level, z.int()) })),
    stored_bytes: z.int(),
    max_bytes: z.int().describe('More is not stored.'),
    dropped_today: z.int().describe('Lines that were not stored because the logs of the app are full.'),
    refused_today: z
      .int()
      .describe('Requests that came faster than the app may send, and were told when to come again.'),
  }),
  closedToSupport: true,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/logs/summary' },
})
