/** Ending access with a receipt: what ended, and when no process wrote a byte for it any more, signed. */
import * as z from 'zod'
import { field } from './field.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { reading, removing } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { RECEIPT_OF } from './receipt-format.ts'
import { TrailKeyShape } from './trail.ts'

const Count = z.int().min(0)

export const Receipt = z.object({
  id: z.string(),
  state: z.enum(['pending', 'final']).describe('`pending`: some process may still write for it.'),
  rehearsal: z.boolean().describe('Nothing was ended.'),
  of: z.object({ kind: z.enum(RECEIPT_OF), id: z.string(), name: z.string() }),
  by: z.object({ id: z.string().nullable(), name: z.string() }),
  began_at: Time,
  final_at: Time.nullable().describe(
    'No process wrote a byte for it after this moment, by the clock of the database.',
  ),
  ended: z.record(z.string(), Count).describe('How many of each kind, such as `grant` or `api_token`.'),
  cut: z
    .object({ calls: Count, long_polls: Count, streams: Count, questions: Count })
    .describe('What was open for it and is cut off, of all processes that have acknowledged it so far.'),
  processes: z.object({
    acknowledged: Count,
    waiting_for: Count.describe('Until they acknowledge it, or have no lease any more.'),
  }),
  remains: z
    .array(z.object({ connection_string: z.string(), read_by: z.string(), read_at: Time }))
    .describe('What it cannot end: connection strings that were read, until each is rotated.'),
  signed: z.string().nullable().describe('The receipt as it is signed; null while it is pending.'),
  signature: z.string().nullable().describe('Ed25519, as base64url, of `svc receipt\\n` and `signed`.'),
  keys: z
    .array(TrailKeyShape)
    .describe('Those of the trail: `svc audit verify` takes this answer as a file.'),
})

const receipt = { service: 'auth-service', access: 'viewer', closedToSupport: true } as const

const RECEIPT_FIELDS = [
  'receipt=id, state, OF=of.kind, name=of.name, began_at, final_at, ended:counts, CUT OFF=cut:counts',
] as const

export const endWithReceipt = removing({
  ...receipt,
  name: 'endWithReceipt',
  summary:
    'End access of an agent, a person, a client or everything of the organization, in all processes, with a signed receipt.',
  input: z.object({
    of: field(z.enum(RECEIPT_OF).describe('Whose access ends.'), {
      label: 'Of',
      client: `Whose access: ${RECEIPT_OF.join(', ')}`,
    }),
    id: field(
      z
        .string()
        .min(1)
        .max(1024)
        .optional()
        .describe('Of the grant, the machine agent, the user or the client; left out for the organization.'),
      { client: 'grt_…, mch_…, usr_… or the id of a client; none for the organization' },
    ),
    dry_run: field(z.boolean().default(false).describe('End nothing, and count the same.'), {
      label: 'Rehearse',
      client: { flag: 'dry-run', summary: 'End nothing, and show what would end' },
    }),
  }),
  output: Receipt,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'agents access end',
    summary: 'End access with a signed receipt',
    arguments: ['of', 'id'],
    options: ['dry_run'],
    confirm: 'This ends access ({of} {id}) in all processes.',
    fields: RECEIPT_FIELDS,
    notes: ['Fetch it when it is final, and keep it: svc agents access receipt {id} --json > receipt.json'],
    examples: ['svc agents access end person usr_0mwhkcyh5nlh1pqqssy5gj19q --dry-run'],
  },
  http: { method: 'post', path: '/api/v1/receipts', success: 201 },
})

export const RECEIPT_WAIT_SECONDS = 25

export const showReceipt = reading({
  ...receipt,
  name: 'showReceipt',
  summary: 'Show the receipt of an ending of access. Whoever ended it sees it, and owners and admins.',
  input: z.object({
    receipt_id: Id('rct'),
    wait: field(
      z.coerce
        .number()
        .int()
        .min(0)
        .max(RECEIPT_WAIT_SECONDS)
        .default(0)
        .describe('Wait so many seconds for it to become final.'),
      {
        client: { value: 'seconds', summary: `Wait for it to become final, at most ${RECEIPT_WAIT_SECONDS}` },
      },
    ),
  }),
  output: Receipt,
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents access receipt',
    summary: 'Show a receipt; keep it with --json, and verify it with `svc audit verify`',
    fields: RECEIPT_FIELDS,
    listedBy: 'agents access receipts',
    examples: ['svc agents access receipt rct_0mwhkcyh5nlh1pqqssy5gj19q --json'],
  },
  http: { method: 'get', path: '/api/v1/receipts/{receipt_id}' },
})

export const listReceipts = reading({
  ...receipt,
  name: 'listReceipts',
  summary: 'List the receipts of endings of access, newest first.',
  access: 'admin',
  input: z.object({ ...pageInput }),
  output: z.object({
    receipts: z.array(Receipt.omit({ signed: true, signature: true, keys: true })),
    ...pageOutput,
  }),
  command: {
    path: 'agents access receipts',
    summary: 'List the receipts of endings of access (admin or higher)',
    table: 'RECEIPT=id, state, OF=of.kind, NAME=of.name, BY=by.name, began_at, final_at',
    examples: ['svc agents access receipts'],
  },
  http: { method: 'get', path: '/api/v1/receipts' },
})
