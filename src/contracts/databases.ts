/** Managed databases: created or attached, and their connection strings. */
import * as z from 'zod'
import { DATABASE_NAME, DataSource } from './data-sources.ts'
import { DisplayName, Nothing } from './fields.ts'
import { creating, reading, removing } from './operation.ts'

const name = {
  name: z.string().regex(DATABASE_NAME, 'must be a lowercase letter, then up to 40 of a-z, 0-9 and _'),
}

const describing = {
  title: DisplayName.optional().describe('Display name; the name unless given.'),
  description: z.string().trim().max(1_000).optional(),
}

export const createDatabase = creating({
  service: 'api-gateway',
  name: 'createDatabase',
  summary: 'Create a managed Postgres database with pgvector.',
  input: z.object({ ...name, ...describing }),
  output: DataSource,
  access: 'developer',
  errors: ['CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/databases', success: 201 },
})

export const attachDatabase = creating({
  service: 'api-gateway',
  name: 'attachDatabase',
  summary: 'Attach an existing Postgres database with pgvector.',
  input: z.object({
    ...name,
    ...describing,
    url: z
      .string()
      .min(1)
      .max(2_000)
      .describe('postgres://user:password@host:5432/database. It is never returned.'),
  }),
  output: DataSource,
  access: 'admin',
  errors: ['CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/databases/attach', success: 201 },
})

export const showConnectionString = reading({
  service: 'api-gateway',
  name: 'showConnectionString',
  summary: 'Retrieve the connection string of a managed database.',
  input: z.object(name),
  output: z.object({
    name: z.string(),
    url: z.string().describe('Contains the password: whoever has it can read and write the database.'),
    host: z.string(),
    port: z.int(),
    database: z.string(),
    user: z.string(),
    password: z.string(),
  }),
  access: 'developer',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'get', path: '/api/wf/databases/{name}/connection' },
})

export const removeDatabase = removing({
  service: 'api-gateway',
  name: 'removeDatabase',
  summary: 'Delete a managed database and everything in it. An attached database is only detached.',
  input: z.object({
    ...name,
    confirm: z.string().describe('The name again: this cannot be undone.'),
  }),
  output: Nothing,
  access: 'admin',
  errors: ['NOT_FOUND', 'TIMEOUT'],
  http: { method: 'delete', path: '/api/wf/databases/{name}', success: 204 },
})
