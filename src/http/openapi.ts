/** OpenAPI 3.1 of every operation, read off the same table as the routes. */
import * as z from 'zod'
import { ERRORS, type ErrorCode } from '../contracts/errors.ts'
import { typesOf } from '../contracts/media-types.ts'
import type { MediaTypes, Operation } from '../contracts/operation.ts'
import { orAbove } from '../contracts/roles.ts'
import { APP_SCOPES } from '../contracts/scopes.ts'

type JsonSchema = { properties?: Record<string, JsonSchema>; required?: string[]; [key: string]: unknown }

export type OpenApi = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: Record<string, unknown>
}

export type OpenApiOperation = {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security?: Record<string, string[]>[]
  parameters?: {
    name: string
    in: 'path' | 'query' | 'header'
    required: boolean
    description?: string
    schema: JsonSchema
  }[]
  requestBody?: { required: boolean; content: Record<string, { schema: JsonSchema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: JsonSchema }> }>
}

export function openapi(operations: readonly Operation[], about: { version: string; apiUrl: URL }): OpenApi {
  const paths: OpenApi['paths'] = {}
  for (const op of operations) {
    const entry = (paths[op.http.path] ??= {})
    entry[op.http.method] = describe(op)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: about.version,
      description: 'A self-hosted access layer between AI assistants and an organization’s data and apps.',
    },
    servers: [{ url: about.apiUrl.origin }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A user JWT, an API token or an app token.' },
      },
      schemas: { Error: ERROR_SCHEMA },
    },
  }
}

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: Object.keys(ERRORS) },
        message: { type: 'string' },
        hint: { type: 'string' },
        problems: { type: 'array', items: { type: 'string' } },
        request_id: { type: 'string' },
      },
    },
  },
}

/** A query has texts alone, and these two of them are what a boolean is written as. */
const isFlagInText = ({ _zod: { def } }: z.core.$ZodTypes): boolean =>
  def.type === 'pipe' && def.in._zod.def.type === 'string' && def.out._zod.def.type === 'boolean'

function describe(op: Operation): OpenApiOperation {
  const { $schema: _drop, ...input } = z.toJSONSchema(op.http.takes ? withoutBytes(op.input) : op.input, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      if (isFlagInText(zodSchema)) jsonSchema.type = 'boolean'
    },
  }) as JsonSchema
  const pathNames = [...op.http.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  const properties = input.properties ?? {}
  const rest = Object.keys(properties).filter((name) => !pathNames.includes(name))
  const { takes, headers = {} } = op.http
  const inQuery = op.http.method === 'get' || op.http.method === 'delete' || takes !== undefined
  const parameter = (name: string, where: 'path' | 'query') => ({
    name,
    in: where,
    required: where === 'path' || (input.required ?? []).includes(name),
    schema: properties[name] ?? {},
  })
  const parameterOutsidePath = (name: string) => {
    const header = headers[name]
    const declared = parameter(name, 'query')
    return header === undefined ? declared : { ...declared, name: header, in: 'header' as const }
  }
  return {
    operationId: op.name,
    summary: op.summary,
    description: accessSentence(op),
    tags: [tagOf(op)],
    ...(op.access === 'anyone' ? { security: [] } : {}),
    parameters: [
      ...pathNames.map((name) => parameter(name, 'path')),
      ...(inQuery ? rest.map((name) => parameterOutsidePath(name)) : []),
      ...(op.takesIdempotencyKey || 'idempotency_key' in op.input.shape ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(takes ? { requestBody: { required: true, content: contentOf(takes.type) } } : {}),
    ...(inQuery || rest.length === 0 ? {} : { requestBody: body(input, rest) }),
    responses: { ...success(op), ...failures(op.errors) },
  }
}

/** Bytes are no JSON: of them only the type is described. */
const withoutBytes = (shape: z.ZodObject): z.ZodObject =>
  z.object(
    Object.fromEntries(
      Object.entries(shape.shape).filter(
        ([name, field]) => name !== 'content_type' && !(field instanceof z.ZodCustom),
      ),
    ),
  )

const contentOf = (types: MediaTypes) =>
  Object.fromEntries(typesOf(types).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]))

/** The resource: the first segment of the path that is no prefix of ours. `svc-trail.json`, which others look for, is the trail. */
const tagOf = (op: Operation): string =>
  op.http.path
    .split('/')
    .find((segment) => !['', 'api', 'v1', 'wf', 'slim', 'deploy', 'admin', '.well-known'].includes(segment))!
    .replace(/^svc-(.*)\.json$/, '$1')

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description: 'A repeated key replays the first response.',
  schema: { type: 'string' },
}

const isAppScope = (scope: string): boolean => (APP_SCOPES as readonly string[]).includes(scope)

function accessSentence(op: Operation): string {
  const sentences = {
    anyone: 'Open to anyone.',
    person: 'Requires a signed-in user.',
    session: 'Requires a signed-in session, not an API token.',
    operator: 'Requires the operator’s token.',
  }
  const base =
    op.access in sentences
      ? sentences[op.access as keyof typeof sentences]
      : `Requires the role ${orAbove(op.access)}.`
  if (op.access === 'anyone' || op.access === 'session' || op.access === 'operator') return base
  if (op.scope === null) return `${base} Not available to scoped tokens or agents.`
  if (isAppScope(op.scope)) return `${base} Or a token of the app with the scope ${op.scope}.`
  return op.scope === 'any' ? `${base} Available with any scope.` : `${base} Scope: ${op.scope}.`
}

function body(input: JsonSchema, names: readonly string[]) {
  const schema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, input.properties?.[name] ?? {}])),
    additionalProperties: false,
  }
  const required = (input.required ?? []).filter((name) => names.includes(name))
  if (required.length > 0) schema.required = required
  return { required: required.length > 0, content: { 'application/json': { schema } } }
}

function success(op: Operation): OpenApiOperation['responses'] {
  const status = String(op.http.success ?? 200)
  if (status === '204') return { [status]: { description: 'Success.' } }
  if (op.http.gives) return { [status]: { description: 'Success.', content: contentOf(op.http.gives) } }
  const { $schema: _drop, ...schema } = z.toJSONSchema(op.output, { io: 'output' }) as JsonSchema
  return {
    [status]: {
      description: 'Success.',
      content: { 'application/json': { schema }, 'application/yaml': { schema } },
    },
  }
}

/** Codes with the same status share one description. */
function failures(codes: readonly ErrorCode[]): OpenApiOperation['responses'] {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `${code}: ${ERRORS[code].message}`).join('; '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}
