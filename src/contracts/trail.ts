/** The trail: audit and activity of an organization, sealed so that nobody can change it unseen. */
import * as z from 'zod'
import { Nothing, Time } from './fields.ts'
import { creating, reading } from './operation.ts'

const Key = z.object({
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
  output: z.object({ keys: z.array(Key) }),
  access: 'anyone',
  http: { method: 'get', path: '/.well-known/svc-trail.json' },
})

export const rotateTrailKey = creating({
  name: 'rotateTrailKey',
  summary: 'Sign the trail with a new key from now on. The one before signs it, and goes on verifying what it has signed.',
  service: 'api-gateway',
  input: Nothing,
  output: Key,
  access: 'operator',
  http: { method: 'post', path: '/api/v1/admin/trail-keys', success: 201 },
})

export const exportTrail = reading({
  name: 'exportTrail',
  summary:
    'Export the trail with its proofs as NDJSON, oldest first: some seals at a time. The last line of a page names the next one, or is the end.',
  service: 'api-gateway',
  input: z.object({
    after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('`next` of the page before.'),
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
