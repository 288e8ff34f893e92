/** The activity trail: who asked what kind of thing when, in sizes and keyed digests, never in words. */
import * as z from 'zod'
import { ERRORS, type ErrorCode } from './errors.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

export const ACTIVITY_TYPES = ['function', 'data_source'] as const
export const ACTIVITY_DOORS = ['mcp', 'cli', 'api'] as const
export const ACTIVITY_OUTCOMES = ['answered', 'refused', 'failed'] as const
export type ActivityOutcome = (typeof ACTIVITY_OUTCOMES)[number]

const ErrorName = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])

export const ActivityEntry = z.object({
  id: z.string(),
  at: Time,
  type: z.enum(ACTIVITY_TYPES),
  name: z
    .string()
    .nullable()
    .describe('The data source as `db_…`, or the function; null when the call named none that exists.'),
  user: z.object({ id: z.string(), name: z.string() }),
  source: z.enum(ACTIVITY_DOORS).describe('The door the caller came through.'),
  client_id: z.string().nullable().describe('The agent, when one asked.'),
  outcome: z.enum(ACTIVITY_OUTCOMES),
  error: ErrorName.nullable(),
  duration_ms: z.int(),
  question_bytes: z.int(),
  answer_bytes: z.int(),
  hits: z.int().nullable(),
  question_digest: z
    .string()
    .nullable()
    .describe('Keyed: the same question gives the same digest here only.'),
  answer_digest: z.string().nullable(),
  request_id: z.string(),
})

const activity = {
  service: 'api-gateway',
  who: 'viewer',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
} as const

const filters = {
  type: z.enum(ACTIVITY_TYPES).default('function'),
  source: z.string().max(60).optional().describe('Only this data source: `ds_…` or `db_…`.'),
  user_id: Id('usr').optional().describe('Only this person; owners and admins see everybody.'),
  from: z.iso.datetime().optional(),
  to: z.iso.datetime().optional(),
}

export const listActivity = operation({
  ...activity,
  name: 'activity.list',
  summary: 'List calls, newest first: your own, or as owner or admin everybody’s.',
  input: z.object({ ...filters, outcome: z.enum(ACTIVITY_OUTCOMES).optional(), ...pageInput }),
  output: z.object({ activity: z.array(ActivityEntry), ...pageOutput }),
  http: { method: 'get', path: '/api/wf/activity' },
})

export const summarizeActivity = operation({
  ...activity,
  name: 'activity.summarize',
  summary: 'Count calls per day and outcome, for the same rows that the list shows.',
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
      .describe('The last 30 days with calls in them, oldest first, unless `from` and `to` say otherwise.'),
  }),
  http: { method: 'get', path: '/api/wf/activity/summary' },
})

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest as hex')

export const reportCall = operation({
  name: 'activity.report',
  summary:
    'The MCP endpoints report a call that no core has written down: a function, or what their door refused.',
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
  who: 'viewer',
  scope: 'any',
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'post', path: '/api/wf/activity', success: 204 },
})
