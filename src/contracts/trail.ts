/** The trail: audit and activity of an organization, sealed so that nobody can change it unseen. */
import * as z from 'zod'
import { field } from './field.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { TRAIL_STREAM_KINDS } from './trail-format.ts'

export const TrailKeyShape = z.object({
  id: z.string(),
  public_key: z.string().describe('Ed25519, 32 bytes as base64url.'),
  created_at: Time,
  endorsed_by: z.string().nullable().describe('The key before it, which signed this one.'),
  endorsement: z.string().nullable(),
})

export const showTrailKeys = reading({
  name: 'showTrailKeys',
  summary: 'The public keys that verify the trail, oldest first.',
  service: 'api-gateway',
  input: z.object({}),
  output: z.object({ keys: z.array(TrailKeyShape) }),
  access: 'anyone',
  http: { method: 'get', path: '/.well-known/svc-trail.json' },
})

export const rotateTrailKey = creating({
  name: 'rotateTrailKey',
  summary:
    'Sign the trail with a new key from now on. The one before signs it, and goes on verifying what it has signed.',
  service: 'api-gateway',
  input: Nothing,
  output: TrailKeyShape,
  access: 'operator',
  http: { method: 'post', path: '/api/v1/admin/trail-keys', success: 201 },
})

export const exportTrail = reading({
  name: 'exportTrail',
  summary:
    'Export the trail with its proofs as NDJSON, oldest first: some seals at a time. The last line of a page names the next one, or is the end.',
  service: 'api-gateway',
  input: z.object({
    after: z.coerce
      .number()
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .default(0)
      .describe('`next` of the page before.'),
  }),
  output: z.object({ body: z.instanceof(Uint8Array) }),
  access: 'admin',
  http: {
    method: 'get',
    path: '/api/v1/audit/export',
    gives: 'application/x-ndjson',
    filename: 'trail.ndjson',
  },
})

/** OCSF 1.3, class API Activity (6003): who called or changed what, and how it ended. Never a question, an answer or a row of data. */
const OcsfEvent = z.object({
  category_uid: z.literal(6),
  class_uid: z.literal(6003),
  activity_id: z.int().describe('1 create, 2 read, 3 update, 4 delete, 99 other.'),
  type_uid: z.int(),
  severity_id: z.literal(1),
  time: z.int().describe('Milliseconds since 1970.'),
  status_id: z.int().describe('1 success, 2 failure.'),
  status_code: z.string().optional(),
  duration: z.int().optional(),
  actor: z.object({
    user: z.object({ uid: z.string().optional(), name: z.string(), type: z.string().optional() }),
    app_uid: z.string().optional(),
    app_name: z.string().optional(),
  }),
  api: z.object({
    operation: z.string(),
    service: z.object({ name: z.literal('svc') }),
    request: z.object({ uid: z.string() }).optional(),
  }),
  src_endpoint: z.object({ name: z.string() }),
  resources: z.array(z.object({ name: z.string(), uid: z.string().optional() })).optional(),
  metadata: z.object({
    version: z.literal('1.3.0'),
    product: z.object({ name: z.literal('svc'), vendor_name: z.literal('svc') }),
    uid: z.string(),
    log_name: z.enum(['audit', 'activity']),
    tenant_uid: z.string(),
    sequence: z.int().describe('Its number in the trail, without gaps.'),
  }),
  unmapped: z.record(z.string(), z.union([z.string(), z.number()])),
})

const TRAIL_CURSOR = /^(\d{1,15})-([0-9a-f]{1,32}):(\d{1,15})$/

export const streamTrail = reading({
  name: 'streamTrail',
  summary:
    'Read the sealed trail as OCSF events, oldest first. Rows come once they are sealed, about a minute after they were written, without gaps, and at least once.',
  service: 'api-gateway',
  input: z.object({
    after: z
      .string()
      .regex(TRAIL_CURSOR, 'must be `next` of the page before')
      .optional()
      .describe('`next` of the page before: epoch and sequence number. Left out: from the beginning.'),
    limit: z.coerce.number().int().min(1).max(200).default(200),
  }),
  output: z.object({
    events: z.array(OcsfEvent),
    seals: z
      .array(z.object({ signed: z.string(), signature: z.string() }))
      .describe(
        'The signed roots of these events. Keep them: they show whether an export is of the same trail.',
      ),
    next: z.string().describe('Pass it as `after`. The same as before while there is nothing new.'),
  }),
  access: 'admin',
  http: { method: 'get', path: '/api/v1/audit/stream' },
})

const TrailStream = z.object({
  id: z.string(),
  kind: z.enum(TRAIL_STREAM_KINDS),
  host: z.string(),
  created_at: Time,
  sent_to: z.int().describe('The number of the last row that was taken.'),
  sent_at: Time.nullable(),
  failures: z.int().describe('Attempts that failed since the last that was taken.'),
  problem: z.string().nullable().describe('How the last attempt failed.'),
})

const streams = { service: 'api-gateway', access: 'owner', closedToSupport: true } as const
const STREAM_TABLE = 'STREAM=id, kind, host, SENT TO=sent_to, sent_at, failures, problem'

export const createTrailStream = creating({
  ...streams,
  name: 'createTrailStream',
  summary:
    'Send the sealed trail to a signed webhook, or as OTLP logs to a collector, from the beginning on.',
  closedToCliSessions: true,
  input: z.object({
    kind: field(
      z.enum(TRAIL_STREAM_KINDS).describe('A webhook is signed with its address, as integrations are.'),
      {
        label: 'Kind',
        client: 'webhook or otlp',
      },
    ),
    url: field(z.string().min(1).max(2_048).describe('Stored encrypted and never shown again.'), {
      label: 'URL',
      client: 'Address of the webhook, or of the collector with its path (/v1/logs)',
    }),
    authorization: field(
      z
        .string()
        .regex(/^[\x21-\x7e][\x20-\x7e]{0,999}$/, 'must be the value of a header')
        .optional()
        .describe('Sent as the header `Authorization`. Stored encrypted and never shown again.'),
      {
        label: 'Authorization header',
        hint: 'If the receiver asks for one.',
        isSecret: true,
        maxLength: 1_000,
        // Not asked for where it is left out: most receivers need none.
        client: {
          stdin: 'the header',
          summary: 'Sent as the header `Authorization`; with - it is read from stdin',
        },
      },
    ),
  }),
  output: TrailStream,
  errors: ['CONFLICT'],
  command: {
    path: 'audit streams add',
    summary: 'Send the trail to a webhook or a collector of OTLP logs (owner, with an API token)',
    arguments: ['kind', 'url'],
    table: STREAM_TABLE,
    examples: ['svc audit streams add webhook https://siem.example.com/svc'],
  },
  http: { method: 'post', path: '/api/v1/audit/streams', success: 201 },
})

export const listTrailStreams = reading({
  ...streams,
  name: 'listTrailStreams',
  summary: 'List where the trail is sent to, and how far.',
  input: z.object({ ...pageInput }),
  output: z.object({ trail_streams: z.array(TrailStream), ...pageOutput }),
  command: {
    path: 'audit streams',
    summary: 'List where the trail is sent to, and how far (owner)',
    table: STREAM_TABLE,
    examples: ['svc audit streams'],
  },
  http: { method: 'get', path: '/api/v1/audit/streams' },
})

export const removeTrailStream = removing({
  ...streams,
  name: 'removeTrailStream',
  summary: 'Stop sending the trail to a webhook or a collector.',
  input: z.object({ stream_id: Id('trs') }),
  output: Nothing,
  errors: ['NOT_FOUND'],
  command: {
    path: 'audit streams remove',
    summary: 'Stop sending the trail there (owner)',
    confirm: 'This ends {stream_id}. Nothing more is sent there.',
    done: 'Removed {stream_id}',
    examples: ['svc audit streams remove trs_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
  },
  http: { method: 'delete', path: '/api/v1/audit/streams/{stream_id}', success: 204 },
})
