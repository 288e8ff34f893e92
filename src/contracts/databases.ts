/** Managed databases: made here or attached, reached by a connection string. */
import * as z from 'zod'
import { DATABASE_NAME, DataSource } from './data-sources.ts'
import { DisplayName, Nothing } from './fields.ts'
import { operation } from './operation.ts'

const name = {
  name: z.string().regex(DATABASE_NAME, 'must be a lower-case letter, then up to 40 of a-z, 0-9 and _'),
}

const database = { service: 'api-gateway', scope: null } as const
const errors = ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'] as const

const describing = {
  title: DisplayName.optional().describe('What people and agents read; the name unless given.'),
  description: z.string().trim().max(1_000).optional(),
}

export const createDatabase = operation({
  ...database,
  name: 'databases.create',
  summary: 'Make a managed Postgres database with pgvector.',
  input: z.object({ ...name, ...describing }),
  output: DataSource,
  who: 'developer',
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: [...errors, 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/databases', success: 201 },
})

export const attachDatabase = operation({
  ...database,
  name: 'databases.attach',
  summary: 'Adopt an existing Postgres with pgvector, within the addresses the operator allows.',
  input: z.object({
    ...name,
    ...describing,
    url: z
      .string()
      .min(1)
      .max(2_000)
      .describe('postgres://user:password@host:5432/database; never shown again.'),
  }),
  output: DataSource,
  who: 'admin',
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: [...errors, 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/databases/attach', success: 201 },
})

export const showConnection = operation({
  ...database,
  name: 'databases.connection',
  summary: 'Show the connection string of a managed database, for psql and every Postgres driver.',
  input: z.object(name),
  output: z.object({
    name: z.string(),
    url: z.string().describe('Holds the password: whoever has it reads and writes the database.'),
    host: z.string(),
    port: z.int(),
    database: z.string(),
    user: z.string(),
    password: z.string(),
  }),
  who: 'developer',
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: [...errors, 'NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'get', path: '/api/wf/databases/{name}/connection' },
})

export const removeDatabase = operation({
  ...database,
  name: 'databases.remove',
  summary: 'Delete a managed database with everything in it; an attached one is only let go.',
  input: z.object({
    ...name,
    confirm: z.string().describe('The name once more: this cannot be undone.'),
  }),
  output: Nothing,
  who: 'admin',
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: [...errors, 'NOT_FOUND', 'TIMEOUT'],
  http: { method: 'delete', path: '/api/wf/databases/{name}', success: 204 },
})
