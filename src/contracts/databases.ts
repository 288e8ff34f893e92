/** Managed databases: created or attached, and their connection strings. */
import * as z from 'zod'
import { DATABASE_NAME, DataSource, SOURCE_TABLE } from './data-sources.ts'
import { field } from './field.ts'
import { DisplayName, Nothing } from './fields.ts'
import { creating, reading, removing } from './operation.ts'

export const databaseName = {
  name: field(
    z.string().regex(DATABASE_NAME, 'must be a lowercase letter, then up to 40 of a-z, 0-9 and _'),
    { maxLength: 41, client: { summary: 'From `svc db list`, without db_', values: 'databases' } },
  ),
}

const describing = {
  title: field(DisplayName, { hint: 'Shown to people and assistants. Defaults to the name.' })
    .optional()
    .describe('Display name; the name unless given.'),
  description: field(z.string().trim().max(1_000), {
    hint: 'What it contains. Assistants use it to choose a data source.',
    rows: 3,
    client: 'What the data is about',
  }).optional(),
}

const newName = {
  name: field(databaseName.name, {
    hint: 'Lowercase letters, digits and `_`, starting with a letter. Becomes the ID `db_…` and cannot be changed later.',
    example: 'support_articles',
    client: 'Lowercase letter, then up to 40 of a-z, 0-9 and _',
  }),
}

export const createDatabase = creating({
  service: 'api-gateway',
  name: 'createDatabase',
  summary: 'Create a managed Postgres database with pgvector.',
  input: z.object({ ...newName, ...describing }),
  output: DataSource,
  access: 'developer',
  errors: ['CONFLICT', 'TIMEOUT'],
  command: {
    path: 'db create',
    arguments: ['name'],
    table: SOURCE_TABLE,
    notes: ['Connect with: svc db psql {name}'],
    examples: ['svc db create handbook', 'svc db create handbook --title "Staff handbook"'],
  },
  http: { method: 'post', path: '/api/wf/databases', success: 201 },
})

export const attachDatabase = creating({
  service: 'api-gateway',
  name: 'attachDatabase',
  summary: 'Attach an existing Postgres database with pgvector.',
  input: z.object({
    ...newName,
    ...describing,
    url: field(z.string().trim().min(1).max(2_000), {
      label: 'Connection string',
      hint: 'Stored encrypted and never shown again.',
      example: 'postgres://user:password@host:5432/database',
      isSecret: true,
      client: {
        value: 'url',
        summary: 'postgres://user:password@host:5432/database, or - to read it from stdin',
      },
    }).describe('postgres://user:password@host:5432/database. It is never returned.'),
  }),
  output: DataSource,
  access: 'admin',
  errors: ['CONFLICT', 'TIMEOUT'],
  command: {
    path: 'db attach',
    options: ['url', 'title', 'description'],
    summary: 'Attach an existing Postgres database with pgvector (admin or higher)',
    arguments: ['name'],
    table: SOURCE_TABLE,
    examples: ['svc db attach warehouse --url - < connection-string.txt'],
  },
  http: { method: 'post', path: '/api/wf/databases/attach', success: 201 },
})

export const showConnectionString = reading({
  service: 'api-gateway',
  name: 'showConnectionString',
  summary: 'Retrieve the connection string of a managed database.',
  input: z.object(databaseName),
  output: z.object({
    name: z.string(),
    url: z.string().describe('Contains the password: whoever has it can read and write the database.'),
    host: z.string(),
    port: z.int(),
    database: z.string(),
    user: z.string(),
    password: z.string(),
    access_column: z
      .string()
      .nullable()
      .describe('What names who sees a row of it: the connection string reads past it.'),
  }),
  access: 'developer',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  closedToSupport: true,
  command: {
    path: 'db connect',
    summary: 'Show connection details for a database, including the password',
    fields: 'name, host, port, database, user, password, url',
    notes: [
      {
        if: 'access_column',
        text: 'This string reads past the access column {access_column}: whoever has it sees every row.',
      },
    ],
    listedBy: 'db list',
    examples: ['svc db connect handbook', 'svc db connect handbook --json'],
  },
  http: { method: 'get', path: '/api/wf/databases/{name}/connection' },
})

export const rotateConnectionString = removing({
  service: 'api-gateway',
  name: 'rotateConnectionString',
  summary:
    'Give the connection string of a managed database another password. The one before opens nothing any more, and its connections end.',
  input: z.object(databaseName),
  output: Nothing,
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT', 'TIMEOUT'],
  closedToSupport: true,
  command: {
    path: 'db connect rotate',
    summary: 'Give a database another password; every program that uses it needs the new connection string',
    confirm: 'This ends the connection string of {name}: whoever uses it is disconnected.',
    done: 'Rotated {name}. Show the new connection string: svc db connect {name}',
    listedBy: 'db list',
    examples: ['svc db connect rotate handbook --yes'],
  },
  http: { method: 'post', path: '/api/wf/databases/{name}/rotate', success: 204 },
})

export const removeDatabase = removing({
  service: 'api-gateway',
  name: 'removeDatabase',
  summary: 'Delete a managed database and everything in it. An attached database is only detached.',
  input: z.object({
    ...databaseName,
    confirm: field(z.string(), { maxLength: 60 }).describe('The name again: this cannot be undone.'),
  }),
  output: Nothing,
  access: 'admin',
  errors: ['NOT_FOUND', 'TIMEOUT'],
  command: {
    path: 'db remove',
    summary: 'Delete a database and all its data; an attached database is only detached',
    always: { confirm: '{name}' },
    confirm: 'This deletes database {name} and all its data (an attached database is only detached).',
    done: 'Removed {name}',
    listedBy: 'db list',
    examples: ['svc db remove handbook --yes'],
  },
  http: { method: 'delete', path: '/api/wf/databases/{name}', success: 204 },
})
