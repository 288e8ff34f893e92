/** Activity: who called what and when, as sizes and keyed digests, never as text. */
import * as z from 'zod'
import { ERRORS, type ErrorCode } from './errors.ts'
import { field } from './field.ts'
import { fromTo, Nothing, ScopeName, Time } from './fields.ts'
import { Id } from './ids.ts'
import { ACTIVITY_OUTCOMES, ACTIVITY_SOURCES, ACTIVITY_TYPE_FILTERS, ACTIVITY_TYPES } from './list-filters.ts'
import { AGENTS_TOLD_MAX } from './limits.ts'
import { creating, reading } from './operation.ts'
import { ageOutput, countedPageInput, countedPageOutput } from './paging.ts'
import { SCOPE_NAMES } from './scopes.ts'

const ErrorName = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])

export const ActivityEntry = z.object({
  id: z.string(),
  at: Time,
  type: z.enum(ACTIVITY_TYPES),
  name: z
    .string()
    .nullable()
    .describe('The data source as `db_…`, or the function; null when the call named none.'),
  user: z.object({ id: z.string(), name: z.string() }),
  source: z.enum(ACTIVITY_SOURCES).describe('The entry point of the call.'),
  client_id: z.string().nullable().describe('The OAuth client, when an agent called.'),
  client_name: z.string().nullable().describe('The name the client gave itself, unverified.'),
  grant_id: z.string().nullable().describe('The grant of the agent that called.'),
  outcome: z.enum(ACTIVITY_OUTCOMES),
  error: ErrorName.nullable(),
  duration_ms: z.int(),
  question_bytes: z.int(),
  answer_bytes: z.int(),
  hits: z.int().nullable(),
  question_digest: z
    .string()
    .nullable()
    .describe('Keyed: equal questions have equal digests within the organization only.'),
  answer_digest: z.string().nullable(),
  request_id: z.string(),
})

const activity = {
  service: 'api-gateway',
  access: 'viewer',
} as const

const filters = {
  type: field(z.enum(ACTIVITY_TYPE_FILTERS).default('function'), { client: 'Kind of call' }),
  source: field(z.string().max(60).optional().describe('Only this data source: `ds_…` or `db_…`.'), {
    client: { value: 'source_id', summary: 'Filter by data source', values: 'sources' },
  }),
  user_id: field(Id('usr').optional().describe('Only this user. Owners and admins see everybody.'), {
    client: 'Filter by user (usr_…)',
  }),
  grant_id: Id('grt').optional().describe('Only calls of the agent with this grant.'),
  entry_point: z.enum(ACTIVITY_SOURCES).optional().describe('Only calls that came in here.'),
  ...fromTo,
}

export const listActivity = reading({
  ...activity,
  name: 'listActivity',
  mayBeOld: true,
  summary: 'List activity, newest first. Owners and admins see everybody’s.',
  input: z.object({ ...filters, outcome: z.enum(ACTIVITY_OUTCOMES).optional(), ...countedPageInput }),
  output: z.object({ activity: z.array(ActivityEntry), ...countedPageOutput, ...ageOutput }),
  command: {
    path: 'activity',
    summary: 'List calls, newest first; admins and owners see all members',
    options: ['type', 'source', 'user_id', 'outcome', 'from', 'to'],
    table: 'TIME=at, type, name, user.name, source, outcome, error, hits, MS=duration_ms',
    // Whoever asked a question and sees an empty list looks at the other kind of calls.
    notes: [
      {
        if: '!activity !type=data_source !type=all',
        text: 'No function calls match. Questions to data sources: svc activity --type data_source',
      },
      {
        if: '!activity type=data_source',
        text: 'No questions to data sources match. Other calls: svc activity --type function',
      },
    ],
    examples: ['svc activity', 'svc activity --type data_source --source db_handbook --outcome failed'],
  },
  http: { method: 'get', path: '/api/wf/activity' },
})

/** By its last call: it may have ended since, and be called otherwise now. */
const ActiveAgent = z.object({
  grant_id: z.string(),
  client_id: z.string(),
  client_name: z.string().nullable().describe('The name the client gave itself, unverified.'),
  user: z.object({ id: z.string(), name: z.string() }),
  last_call_at: Time,
  calls: z.int(),
  refused: z.int(),
  failed: z.int(),
  days: z
    .array(z.object({ day: z.iso.date().describe('UTC.'), calls: z.int() }))
    .describe('Days with calls, oldest first.'),
})

export const summarizeActivity = reading({
  ...activity,
  name: 'summarizeActivity',
  mayBeOld: true,
  summary: 'Count calls per day and outcome, and on request by agent.',
  input: z.object({
    ...filters,
    agents: z.stringbool().default(false).describe('Whether to count by agent, too.'),
  }),
  output: z.object({
    ...ageOutput,
    days: z
      .array(
        z.object({
          day: z.iso.date().describe('UTC.'),
          answered: z.int(),
          refused: z.int(),
          failed: z.int(),
          questions: z.int().describe('Questions to data sources among these calls.'),
        }),
      )
      .describe('Days with calls, oldest first; the last 30 days unless `from` and `to` are set.'),
    agents: z
      .array(ActiveAgent)
      .optional()
      .describe(`The agents that called, the last one first, at most ${AGENTS_TOLD_MAX}.`),
  }),
  http: { method: 'get', path: '/api/wf/activity/summary' },
})

const Counts = { calls: z.int(), answered: z.int(), refused: z.int(), failed: z.int() }

/** Calls with less than half an hour between one and the next. */
const WorkPeriod = z.object({
  from: Time,
  to: Time,
  ...Counts,
  data_sources: z
    .array(z.object({ source_id: z.string(), ...Counts, hits: z.int() }))
    .describe('Those it asked, the most asked first.'),
  functions: z.array(z.object({ name: z.string(), ...Counts })).describe('Those it called, most first.'),
  errors: z
    .array(z.object({ error: ErrorName, calls: z.int() }))
    .describe('Why calls were refused or failed, most first.'),
})

export const showAgentDay = reading({
  ...activity,
  name: 'showAgentDay',
  mayBeOld: true,
  summary:
    'Show what an agent did on a day, by period of work: what it asked, called and was refused, never the words.',
  input: z.object({
    grant_id: Id('grt'),
    day: field(z.iso.date().optional().describe('UTC; today unless given.'), { client: 'Day (YYYY-MM-DD)' }),
  }),
  output: z.object({
    ...ageOutput,
    day: z.iso.date(),
    ...Counts,
    periods: z.array(WorkPeriod).describe('Oldest first.'),
  }),
  command: {
    path: 'agents day',
    summary: 'Show what an agent did on a day',
    rows: 'periods',
    table: 'from, to, calls, refused, failed, SOURCES=data_sources.source_id, FUNCTIONS=functions.name',
    listedBy: 'agents list',
    examples: [
      'svc agents day grt_01k3v5j8e2q4r6t8w0y2a4c6e8',
      'svc agents day grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --day 2026-11-16',
    ],
  },
  http: { method: 'get', path: '/api/wf/activity/agents/{grant_id}' },
})

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest as hex')

export const reportToolCall = creating({
  name: 'reportToolCall',
  summary: 'Report a call that only the MCP server has seen.',
  service: 'api-gateway',
  input: z.object({
    name: z.string().regex(/^[a-z_]{1,40}$/),
    outcome: z.enum(ACTIVITY_OUTCOMES),
    error: ErrorName.optional(),
    duration_ms: z.int().min(0),
    question_bytes: z.int().min(0),
    answer_bytes: z.int().min(0),
    question_sha256: Sha256.optional(),
    answer_sha256: Sha256.optional(),
    scopes: z
      .array(ScopeName)
      .max(SCOPE_NAMES.length)
      .default([])
      .describe('Those that the call needed, by which the use of the grant is counted.'),
  }),
  output: Nothing,
  durability: 'local',
  access: 'viewer',
  scope: 'any',
  http: { method: 'post', path: '/api/wf/activity', success: 204 },
})
