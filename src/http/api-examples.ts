/** An example of every operation, made from its schemas: a command that calls it, and what it returns. */
import type { OpenApiOperation } from './openapi.ts'

type Schema = {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema | readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly propertyNames?: Schema
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly minItems?: number
  readonly minLength?: number
}

/** Body fields as they are sent, path and query apart. */
export function exampleInput(op: OpenApiOperation): Record<string, unknown> {
  const parameters = (op.parameters ?? []).filter((one) => one.in !== 'header' && one.required)
  return {
    ...Object.fromEntries(parameters.map(({ name, schema }) => [name, exampleOf(schema as Schema, name)])),
    ...bodyOf(op),
  }
}

function bodyOf(op: OpenApiOperation): Record<string, unknown> | undefined {
  const schema = op.requestBody?.content['application/json']?.schema as Schema | undefined
  if (!schema) return undefined
  const required = exampleOf(schema, op.operationId) as Record<string, unknown>
  const [first] = Object.entries(schema.properties ?? {})
  // Where everything may be left out, something must be said all the same.
  return Object.keys(required).length > 0 || !first ? required : { [first[0]]: exampleOf(first[1], first[0]) }
}

export function exampleCommand(base: string, path: string, method: string, op: OpenApiOperation): string {
  const given = exampleInput(op)
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name])))
  const query = (op.parameters ?? []).filter((one) => one.in === 'query' && one.required)
  const search = new URLSearchParams(query.map(({ name }) => [name, String(given[name])]))
  const url = `${base}${filled}${search.size > 0 ? `?${search}` : ''}`
  const body = bodyOf(op)
  const sent = Object.keys(op.requestBody?.content ?? {})[0]
  return [
    `curl ${method === 'get' || (method === 'post' && body) ? '' : `-X ${method.toUpperCase()} `}'${url}'`,
    ...(op.security?.length === 0 ? [] : ['-H "Authorization: Bearer $SVC_TOKEN"']),
    ...(body ? [`--json '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`] : []),
    ...(!body && sent ? [`-H 'Content-Type: ${sent}' --data-binary @file`] : []),
  ].join(' \\\n  ')
}

/** Undefined where nothing, or something else than JSON, is returned. */
export function exampleResponse(op: OpenApiOperation): unknown {
  const [, success] = Object.entries(op.responses).find(([status]) => status.startsWith('2')) ?? []
  const schema = success?.content?.['application/json']?.schema as Schema | undefined
  return schema && exampleOf(schema, op.operationId)
}

/** Only what must be there: examples stay short. Of an answer all of it is required. */
function exampleOf(schema: Schema, name = ''): unknown {
  if ('const' in schema) return schema.const
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return exampleOf(choices.find(({ type }) => type !== 'null') ?? choices[0]!, name)
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((one) => exampleOf(one, name)))
  if (schema.enum) return schema.enum[0]
  const type = typeOf(schema) ?? 'any'
  switch (type) {
    case 'object':
      return objectOf(schema, name)
    case 'array':
      return arrayOf(schema, name)
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, (schema.exclusiveMinimum ?? 0) + 1)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'string':
      return stringOf(schema, name)
    default:
      return NAMED[name] ?? 'text'
  }
}

const typeOf = ({ type }: Schema): string | undefined =>
  typeof type === 'string' ? type : type?.find((one) => one !== 'null')

function objectOf(schema: Schema, name: string): Record<string, unknown> {
  const { properties, required = [], additionalProperties } = schema
  if (!properties) {
    if (typeof additionalProperties !== 'object') return {}
    const [first] = schema.propertyNames?.enum ?? []
    return { [typeof first === 'string' ? first : 'team']: exampleOf(additionalProperties, 'team') }
  }
  return Object.fromEntries(
    required.map((field) => [
      field,
      exampleOf(properties[field] ?? {}, field === 'id' ? `${singular(name)}_id` : field),
    ]),
  )
}

function arrayOf({ items, minItems = 1 }: Schema, name: string): unknown[] {
  if (Array.isArray(items)) return items.map((one: Schema) => exampleOf(one, name))
  const one = items as Schema | undefined
  return one ? Array.from({ length: Math.max(1, minItems) }, () => exampleOf(one, singular(name))) : []
}

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')

function stringOf({ pattern, format, minLength }: Schema, name: string): string {
  const named = BY_PATTERN.find(([begins]) => pattern?.startsWith(begins))?.[1] ?? NAMED[name]
  if (named !== undefined) return named
  const prefix = /^\^([a-z]{2,5})_/.exec(pattern ?? '')?.[1] ?? prefixOf(name)
  if (prefix !== undefined) return `${prefix}_${ID_CHARACTERS}`
  if (format === 'date-time') return MOMENT
  if (format === 'date') return MOMENT.slice(0, 10)
  if (format === 'email' || name.endsWith('email')) return 'ada@example.com'
  if (/0-9\]?\{64\}|a-f0-9\]\{64|0-9a-f\]\{64/.test(pattern ?? '') || /sha256|digest/.test(name))
    return '0'.repeat(64)
  return 'text'.padEnd(minLength ?? 0, 'x')
}

/** Of fields whose name means something else elsewhere: the beginning of their pattern. */
const BY_PATTERN: readonly (readonly [string, string])[] = [
  ['^app\\.', 'app.shop.order_failed'],
  ['^[A-Za-z0-9_-]{1,80}$', 'order-1234'],
]

const MOMENT = '2026-11-16T09:00:00.000Z'
const ID_CHARACTERS = '0mwhkcyh5nlh1pqqssy5gj19q'

/** Of fields that hold an id without saying so in their schema; the last word of an operation's name is one of them too. */
const PREFIXES: readonly (readonly [RegExp, string])[] = [
  [/(^org|organization)_id$/i, 'org'],
  [/(user|member|person|actor|author)_id$|created_by$/i, 'usr'],
  [/delivery_id$|replay_of$/i, 'dlv'],
  [/event_id$/i, 'evt'],
  [/message_id$|carried_by$/i, 'msg'],
  [/integration_id$/i, 'int'],
  [/subscription_id$/i, 'sub'],
  [/notification_id$/i, 'ntf'],
  [/recover(y|Deliveries)_id$/i, 'rcv'],
  [/ticket_id$/i, 'tkt'],
  [/(api_?)?token_id$/i, 'tok'],
  [/grant_id$/i, 'grt'],
  [/data_?source_id$/i, 'ds'],
  [/support_?session_id$/i, 'sup'],
  [/session_id$/i, 'ses'],
  [/invitation_id$/i, 'inv'],
  [/request_id$/i, 'req'],
  [/audit_id$/i, 'aud'],
  [/activity_id$/i, 'act'],
  [/check_id$/i, 'chk'],
  [/(check_)?result_id$/i, 'chr'],
  [/revision(_id)?$|^base$/i, 'rev'],
  [/deployment_id$/i, 'dep'],
  [/pipeline_id$/i, 'ppl'],
  [/pipeline_?run_id$/i, 'prn'],
  [/(execution|maintenance_?run)_id$/i, 'exec'],
  [/proposal_id$/i, 'pr'],
  [/finding_id$/i, 'fnd'],
  [/app_id$/i, 'app'],
]

const prefixOf = (name: string): string | undefined => PREFIXES.find(([pattern]) => pattern.test(name))?.[1]

/** By the name of the field; what is not here is `text`. */
const NAMED: Readonly<Record<string, string>> = {
  alias: 'shop',
  incident_id: 'lgr_0mwhkcyh5nlh1pqqssy5gj19q',
  app: 'shop',
  source_id: 'db_handbook',
  table: 'articles',
  name: 'handbook',
  title: 'Handbook',
  slug: 'northwind',
  query: 'How do I book a day off?',
  url: 'https://hooks.example.com/acme/svc',
  issuer: 'https://idp.example.com',
  address: 'ops@example.com',
  pattern: 'deploy.failed',
  type: 'deploy.failed',
  subject: 'deployments/dep_0mwhkcyh5nlh1pqqssy5gj19q',
  domain: 'example.com',
  condition: '[STATUS] == 200',
  until: '2026-11-16T11:00:00.000Z',
  timezone: 'Europe/Vienna',
  email: 'ada@example.com',
  password: 'a long password',
}
