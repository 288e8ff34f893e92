/** Activity: who called what and when, as sizes and keyed digests, never as text. */
import * as z from 'zod'
import { ERRORS, type ErrorCode } from './errors.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { ACTIVITY_OUTCOMES, ACTIVITY_SOURCES, ACTIVITY_TYPES } from './list-filters.ts'
import { creating, reading } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

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
  type: z.enum(ACTIVITY_TYPES).default('function'),
  source: z.string().max(60).optional().describe('Only this data source: `ds_…` or `db_…`.'),
  user_id: Id('usr').optional().describe('Only this user. Owners and admins see everybody.'),
  from: z.iso.datetime().optional(),
  to: z.iso.datetime().optional(),
}

export const listActivity = reading({
  ...activity,
  name: 'listActivity',
  summary: 'List activity, newest first. Owners and admins see everybody’s.',
  input: z.object({ ...filters, outcome: z.enum(ACTIVITY_OUTCOMES).optional(), ...countedPageInput }),
  output: z.object({ activity: z.array(ActivityEntry), ...countedPageOutput }),
  http: { method: 'get', path: '/api/wf/activity' },
})

export const summarizeActivity = reading({
  ...activity,
  name: 'summarizeActivity',
  summary: 'Count calls per day and outcome.',
  input: z.object(filters),
  output: z.object({
    days: z
      .array(
        z.object({
          day: z.iso.date().describe('UTC.'),
          answered: z.int(),
          refused: z.int(),
          failed: z.int(),
        }),
      )
      .describe('Days with calls, oldest first; the last 30 days unless `from` and `to` are set.'),
  }),
  http: { method: 'get', path: '/api/wf/activity/summary' },
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
  }),
  output: Nothing,
  access: 'viewer',
  scope: 'any',
  http: { method: 'post', path: '/api/wf/activity', success: 204 },
})
