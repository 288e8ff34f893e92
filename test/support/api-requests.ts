/** Requests made from the OpenAPI document: the operations as others read them, and values that fit their schemas. */
import fc from 'fast-check'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { openapi } from '../../src/http/openapi.ts'

type Schema = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Schema
}

type Described = {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

export type ApiOperation = {
  readonly name: string
  readonly method: string
  /** As documented, with `{names}`. */
  readonly path: string
  readonly inPath: Schema
  readonly inQuery: Schema
  readonly inBody: Schema | undefined
}

/** Undefined for a body of bytes, which these requests do not send. */
function jsonIn(body: Described['requestBody']): Schema | undefined {
  const schema = body?.content['application/json']?.schema
  return schema?.format === 'binary' ? undefined : schema
}

const objectOf = (parameters: readonly Parameter[]): Schema => ({
  type: 'object',
  properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
  required: parameters.filter(({ required }) => required).map(({ name }) => name),
})

const about = { version: '0', apiUrl: new URL('http://localhost:4000') }
// As it is served: what is left of it in JSON.
const document = JSON.parse(JSON.stringify(openapi(OPERATIONS, about))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}

export const API_OPERATIONS: readonly ApiOperation[] = Object.entries(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody }]) => ({
      name: operationId,
      method: method.toUpperCase(),
      path,
      inPath: objectOf(parameters.filter((parameter) => parameter.in === 'path')),
      inQuery: objectOf(parameters.filter((parameter) => parameter.in === 'query')),
      inBody: jsonIn(requestBody),
    })),
)

/** Values of fields by name, or by `operation.name` where a name means several things: what really is there. */
export type Known = Readonly<Record<string, readonly unknown[]>>

export type Fields = Readonly<Record<string, unknown>>
/** What one call sends, before it is written as a request. */
export type Inputs = { readonly path: Fields; readonly query: Fields; readonly body: Fields | undefined }

/** `strays` is how many of six values that could be known ones only fit the schema. */
type Context = { readonly known: Known; readonly strays: number }

export const inputsOf = (op: ApiOperation, known: Known, strays = 1): fc.Arbitrary<Inputs> => {
  const own = Object.entries(known).filter(([key]) => key.startsWith(`${op.name}.`))
  const context: Context = {
    known: { ...known, ...Object.fromEntries(own.map(([key, values]) => [key.split('.')[1]!, values])) },
    strays,
  }
  const fields = (schema: Schema) => valueOf(schema, '', context) as fc.Arbitrary<Fields>
  return fc.record({
    path: fields(op.inPath),
    // A cursor comes out of an answer: one that is made up is always refused.
    query: fields(op.inQuery).map(({ cursor: _cursor, ...rest }) => rest),
    body: op.inBody ? fields(op.inBody) : fc.constant(undefined),
  })
}

function valueOf(schema: Schema, name: string, context: Context): fc.Arbitrary<unknown> {
  const { known, strays } = context
  const there = known[name]
  if (there === undefined || schema.type === 'array') return fitting(schema, name, context)
  return fc.oneof(
    { weight: 6 - strays, arbitrary: fc.constantFrom(...there) },
    { weight: strays, arbitrary: fitting(schema, name, context) },
  )
}

function fitting(schema: Schema, name: string, context: Context): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => fitting(one, name, context)))
  const types = [schema.type ?? 'string'].flat()
  return types.length === 1
    ? BY_TYPE[types[0]!]!(schema, name, context)
    : fc.oneof(...types.map((type) => fitting({ ...schema, type }, name, context)))
}

type Maker = (schema: Schema, name: string, context: Context) => fc.Arbitrary<unknown>

/** No pattern that is asked for looks ahead, but that of email domains. */
const textOf = ({ pattern, format, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> => {
  if (format === 'date-time')
    return fc.integer({ min: 0, max: 4_000_000_000 }).map((at) => new Date(at * 1000).toISOString())
  if (pattern?.includes('(?=')) return fc.stringMatching(/^[a-z]{3,20}\.test$/)
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'))
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) })
}

const BY_TYPE: Readonly<Record<string, Maker>> = {
  string: textOf,
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  integer: ({ minimum = 0, maximum = 1000 }) =>
    fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31 - 1) }),
  number: ({ minimum = -1000, maximum = 1000 }) => fc.double({ min: minimum, max: maximum, noNaN: true }),
  array: ({ items = {}, minItems = 0, maxItems = 3 }, name, context) =>
    fc.array(valueOf(items, name, context), { minLength: minItems, maxLength: Math.min(maxItems, 3) }),
  object: ({ properties = {}, required = [], additionalProperties }, _name, context) => {
    const named = fc.record(
      Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, valueOf(one, key, context)])),
      { requiredKeys: [...required], noNullPrototype: true },
    )
    if (typeof additionalProperties !== 'object') return named
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fitting(additionalProperties, '', context), {
      maxKeys: 3,
      noNullPrototype: true,
    })
  },
}

/** In path and query everything is text. */
export const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The path with its names replaced, each value encoded. */
export const pathWith = (op: ApiOperation, values: Fields): string =>
  op.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(asText(values[name])))

export const queryOf = (values: Fields): string => {
  const pairs = Object.entries(values).map(([name, value]) => [name, asText(value)])
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}
