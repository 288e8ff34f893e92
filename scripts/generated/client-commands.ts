/** src/cli/operation-commands.ts and operation-calls.ts: what operations are on the command line, for a client without zod. */
import * as z from 'zod'
import type { Argument, Option, Reading } from '../../src/cli/command.ts'
import { FORMATS } from '../../src/cli/cells.ts'
import type { Cells, OperationCall } from '../../src/cli/operation-call.ts'
import type { CommandOf, Shown } from '../../src/contracts/command.ts'
import { fieldTexts, type ClientField } from '../../src/contracts/field.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'

/** `undefined` is left out when it is written. */
type Loose<T> = { readonly [Key in keyof T]: T[Key] | undefined }
type Commanded = { readonly operation: Operation; readonly command: CommandOf<z.ZodObject> }

const commanded = (operations: readonly Operation[]): Commanded[] =>
  operations.flatMap((operation) =>
    [operation.command ?? []].flat().map((command) => ({ operation, command })),
  )

/** What help and the parser read. */
export function clientCommands(operations: readonly Operation[] = OPERATIONS): string {
  const rows = commanded(operations).map((one) => commandRow(one, operations))
  return [
    '/** The commands that are one operation. Written by `npm run generate` from the contracts; do not edit. */',
    "import type { Command } from './command.ts'",
    '',
    ...withSharedParts('OPERATION_COMMANDS: readonly Command[]', rows),
  ].join('\n')
}

/** What only the call itself reads. */
export const clientCalls = (operations: readonly Operation[] = OPERATIONS): string =>
  [
    '/** What those commands send and print. Written by `npm run generate` from the contracts; do not edit. */',
    "import type { OperationCall } from './operation-call.ts'",
    '',
    'export const OPERATION_CALLS: Readonly<Record<string, OperationCall>> = {',
    ...commanded(operations).map((one) => `  ${quoted(one.command.path)}: ${literal(callRow(one))},`),
    '}',
    '',
  ].join('\n')

export function commandRow({ operation, command }: Commanded, operations: readonly Operation[] = OPERATIONS) {
  const { path, summary = withoutDot(operation.summary), always, examples, confirm } = command
  const { shape } = operation.input
  const listNaming = (key: string) => command.listedBy ?? listOf(operation, key, operations)
  // What has no list of its own is shown with what it belongs to.
  const inPath = namesIn(operation.http.path).filter((key) => key !== 'org_id')
  const ofPath = inPath.map(listNaming)
  const listedBy = command.listedBy ?? ofPath.findLast((list) => list !== undefined)
  const given = command.arguments ?? inPath
  const isLeft = (key: string) =>
    !given.includes(key) && !['org_id', 'limit', 'cursor', 'count'].includes(key)
  const named = command.options ?? (always ? [] : Object.keys(shape).filter(isLeft))
  return {
    path,
    summary,
    arguments: orNothing(given.map((key) => argumentOf(operation, listNaming(key), key))),
    options: orNothing([
      ...[...named, ...('cursor' in shape ? ['limit', 'cursor'] : [])].flatMap((key) =>
        optionsOf(operation, key),
      ),
      ...(confirm === undefined ? [] : [YES]),
    ]),
    listedBy: given.length > 0 ? listedBy : undefined,
    examples,
  }
}

const namesIn = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** The command that lists what a part of the path names: `…/grants/{grant_id}` is of the list at `…/grants`, and of no other. */
function listOf(
  { http: { path } }: Operation,
  key: string,
  operations: readonly Operation[],
): string | undefined {
  const collection = path.slice(0, Math.max(0, path.indexOf(`/{${key}}`)))
  const list = operations.find(({ http }) => http.method === 'get' && http.path === collection)
  return [list?.command ?? []].flat()[0]?.path
}

const YES: Option = { long: 'yes', short: 'y', summary: 'Skip the confirmation prompt' }
const ALL: Option = { long: 'all', summary: 'Fetch all pages' }

const orNothing = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined)

export function callRow({ operation, command }: Commanded): Loose<OperationCall> {
  const { always, atLeastOne, confirm, notes, format } = command
  const isChosen = command.done ?? command.table ?? command.fields
  const { done, table, fields } = isChosen === undefined ? shownByItself(operation) : command
  return {
    operation: operation.name as OperationCall['operation'],
    ofOrganization: 'org_id' in operation.input.shape || undefined,
    always,
    atLeastOne,
    confirm,
    done,
    rows: command.rows ?? pageOf(operation),
    pages: 'cursor' in operation.input.shape || undefined,
    table: table === undefined ? undefined : cellsOf(operation, command, table, headingOf),
    fields: fields === undefined ? undefined : cellsOf(operation, command, fields, nameOf),
    notes,
    format,
  }
}

/** Where nobody chose what is shown: all that fits into a line. */
function shownByItself(operation: Operation): Pick<CommandOf<z.ZodObject>, 'done' | 'table' | 'fields'> {
  const rows = pageOf(operation)
  const { shape } = rowOf(operation, rows)
  const plain = Object.keys(shape).filter((key) => {
    const { type, anyOf } = jsonOf(shape[key] as z.ZodType, 'output')
    const types = [type, ...(anyOf ?? []).map((one) => one.type)]
    return (
      !types.some((one) => one === 'object' || one === 'array') && !['next_cursor', 'total'].includes(key)
    )
  })
  if (plain.length === 0) return { done: 'Done' }
  return rows === undefined ? { fields: plain.join(', ') } : { table: plain.join(', ') }
}

const rowOf = ({ output }: Operation, rows: string | undefined): z.ZodObject =>
  rows === undefined ? output : ((output.shape[rows] as z.ZodArray).element as z.ZodObject)

/** `USER=user.email|user.name`: by its heading. A name that the answer does not have is a mistake. */
function cellsOf(
  operation: Operation,
  { rows }: Commanded['command'],
  shown: Shown,
  named: typeof nameOf,
): Cells {
  const row = rowOf(operation, rows ?? pageOf(operation))
  const parts = [shown].flat().flatMap((text) => (/\}, \{/.test(text) ? [text] : text.split(', ')))
  return Object.fromEntries(
    parts.map((part) => {
      const [, heading, cell = '', maybe] = /^(?:([^={]+)=)?(.*?)(\??)$/.exec(part) ?? []
      const inner = cell.includes('{')
        ? [...cell.matchAll(/\{([^}]+)\}/g)].map(([, one = '']) => one)
        : [cell]
      for (const one of inner.flatMap((each) => each.split('|'))) requireShown(operation, row, one)
      return [`${heading ?? named(cell)}${maybe}`, cell]
    }),
  )
}

function requireShown({ name }: Operation, row: z.ZodType, cell: string): void {
  const [path = '', format] = cell.split(':')
  if (cell.startsWith("'")) return
  if (format !== undefined && !Object.hasOwn(FORMATS, format)) throw new Error(`${name}: no format ${format}`)
  let at: z.ZodType | undefined = row
  for (const step of path.split('.')) {
    at = unwrapped(at)
    // What a record holds nobody knows.
    if (!(at instanceof z.ZodObject)) return
    at = at.shape[step] as z.ZodType | undefined
    if (!at) throw new Error(`${name} answers no ${path}`)
  }
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const { innerType, element } = schema.def as { innerType?: z.ZodType; element?: z.ZodType }
  const inner = innerType ?? element
  return inner ? unwrapped(inner) : schema
}

const nameOf = (cell: string): string => cell.split(/[.:|]/, 1)[0]!
const headingOf = (cell: string): string => words(nameOf(cell).replace(/_(at|id)$/, '')).toUpperCase()

/** The list in a page: the field of the answer with objects in it. */
const pageOf = ({ input, output }: Operation): string | undefined =>
  'cursor' in input.shape
    ? Object.keys(output.shape).find(
        (key) => jsonOf(output.shape[key] as z.ZodType, 'output').items?.type === 'object',
      )
    : undefined

function argumentOf(operation: Operation, listedBy: string | undefined, key: string): Loose<Argument> {
  const { value, client, isRequired } = fieldOf(operation, key)
  const name = client.flag ?? key
  const prefix = prefixOf(value)
  const from = listedBy && (prefix ? `${prefix}_…, from \`svc ${listedBy}\`` : `From \`svc ${listedBy}\``)
  return {
    name,
    summary: client.summary ?? ((key.endsWith('_id') && from) || summaryOf(operation, key)),
    optional: isRequired ? undefined : true,
    choices: value.enum,
    values: client.values,
    ...readingOf(operation, key),
    field: key,
  }
}

/** One; with the switch for its opposite two. */
function optionsOf(operation: Operation, key: string): Loose<Option>[] {
  const { value, texts, client, isSwitch, isRequired } = fieldOf(operation, key)
  const isList = value.type === 'array'
  const long = client.flag ?? dashed(isList ? singular(key) : key.replace(/_id$/, ''))
  const option: Loose<Option> = {
    long,
    short: client.short,
    value: isSwitch ? undefined : (client.value ?? placeholderOf(operation, key, long)),
    summary: summaryOf(operation, key),
    repeatable: isList || isPairs(value) ? true : undefined,
    choices: (isList ? value.items : value)?.enum,
    values: client.values,
    // These two are of the page, not of what is asked for.
    ...(['limit', 'cursor'].includes(key) ? {} : { field: key, ...readingOf(operation, key) }),
    sets: isSwitch && value.type === 'string' ? 'true' : undefined,
    default: client.default,
    missing:
      isRequired && client.default === undefined && !texts.isSecret ? missingOf(client, long) : undefined,
  }
  const not = client.not && {
    long: client.not.flag,
    summary: client.not.summary,
    field: key,
    sets: isList ? [] : false,
  }
  return [
    ...(not && isSwitch && client.flag === undefined ? [] : [option]),
    ...(not ? [not] : []),
    ...(key === 'cursor' ? [ALL] : []),
  ]
}

const missingOf = ({ missing, value }: ClientField, long: string) => ({
  problem: missing?.problem ?? `Missing option --${long}`,
  hint: missing?.hint ?? `Add --${long} <${value ?? 'value'}>`,
})

type Json = {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly default?: unknown
  readonly description?: string
  readonly items?: Json
  readonly anyOf?: readonly Json[]
  readonly additionalProperties?: unknown
  readonly properties?: unknown
}

const jsonOf = (schema: z.ZodType, io: 'input' | 'output'): Json =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json

function fieldOf({ input }: Operation, key: string) {
  const schema = input.shape[key] as z.ZodType | undefined
  if (!schema) throw new Error(`no field is named ${key}`)
  const json = jsonOf(schema, 'input')
  const value = { ...json, ...json.anyOf?.find(({ type }) => type !== 'null') }
  const isNullable = json.anyOf?.some(({ type }) => type === 'null') ?? false
  // In a query it is a text: z.stringbool().
  const isSwitch =
    value.type === 'boolean' || (value.type === 'string' && jsonOf(schema, 'output').type === 'boolean')
  const isRequired = !schema.safeParse(undefined).success
  const texts = fieldTexts(schema)
  const client: ClientField =
    typeof texts.client === 'string' ? { summary: texts.client } : (texts.client ?? {})
  return { value, texts, client, isNullable, isSwitch, isRequired }
}

const isPairs = ({ type, properties }: Json): boolean => type === 'object' && properties === undefined

/** Values that may be objects are ranges. */
const hasRanges = ({ additionalProperties }: Json): boolean =>
  (additionalProperties as Json | undefined)?.anyOf?.some(({ type }) => type === 'object') ?? false

/** Of an id. */
const prefixOf = ({ pattern = '' }: Json): string | undefined => /^\^(\w+)_\[/.exec(pattern)?.[1]

/** How the text of a value becomes what the operation takes. */
function readingOf(
  operation: Operation,
  key: string,
): { as?: Reading | undefined; [limit: string]: unknown } {
  const { value, texts, client, isNullable } = fieldOf(operation, key)
  const { file, stdin, ago, namedBy, prefix } = client
  if (file !== undefined) return { as: value.type === 'object' ? 'json-file' : 'file', what: file }
  if (stdin !== undefined) return { as: 'stdin', what: stdin }
  if (texts.isSecret) return { as: 'secret', what: texts.label ?? capitalized(words(key)) }
  if (namedBy !== undefined) return { as: 'name', what: namedBy, prefix: prefixOf(value) }
  if (prefix !== undefined) return { as: 'prefixed', prefix }
  if (value.type === 'integer' || value.type === 'number')
    return { as: 'number', min: value.minimum, max: value.maximum }
  if (value.format === 'date-time') return { as: ago ? 'ago' : 'time' }
  if (isPairs(value)) return { as: hasRanges(value) ? 'filters' : 'pairs', example: texts.example }
  const maxLength = (value.type === 'array' ? value.items : value)?.maxLength ?? texts.maxLength
  return { as: isNullable ? 'nullable' : undefined, maxLength: value.enum ? undefined : maxLength }
}

function placeholderOf(operation: Operation, key: string, long: string): string {
  const { value } = fieldOf(operation, key)
  if (value.enum ?? value.items?.enum) return long.split('-').at(-1)!
  if (value.type === 'integer' || value.type === 'number') return 'n'
  if (value.format === 'date-time') return 'time'
  if (isPairs(value)) return 'name=value'
  return key.endsWith('_id') ? key : 'text'
}

/** What it is, its limits, and what it is where nobody says. */
function summaryOf(operation: Operation, key: string): string {
  const { value, texts, client } = fieldOf(operation, key)
  const isFilter = operation.readOnly && 'cursor' in operation.input.shape
  const by = isFilter && (value.enum || key.endsWith('_id')) && `Filter by ${words(key.replace(/_id$/, ''))}`
  const about = client.summary ?? (withoutDot(value.description ?? '') || texts.hint || by || '')
  if (about === '')
    throw new Error(
      `nothing is said of ${key} of ${operation.name}: give it .describe('…'), or field(…, { client: '…' })`,
    )
  const isCount =
    value.type === 'integer' && value.maximum !== undefined && value.maximum < Number.MAX_SAFE_INTEGER
  const limits =
    isCount && !about.includes(` to ${value.maximum}`) ? `, ${value.minimum} to ${value.maximum}` : ''
  const isSaid = about.includes('default') || !['string', 'number'].includes(typeof value.default)
  return `${about}${limits}${isSaid ? '' : ` (default ${String(value.default)})`}`
}

const capitalized = (text: string): string => text.replace(/^./, (first) => first.toUpperCase())
const words = (key: string): string => key.replaceAll('_', ' ')
const dashed = (key: string): string => key.replaceAll('_', '-')
const singular = (key: string): string => key.replace(/ies$/, 'y').replace(/s$/, '')
const withoutDot = (text: string): string => text.replace(/\.$/, '')

/** Arguments and options that several commands have are written once: less to read at every start. */
function withSharedParts(declared: string, rows: readonly ReturnType<typeof commandRow>[]): string[] {
  const counts = new Map<string, number>()
  for (const part of rows.flatMap((row) => [...(row.arguments ?? []), ...(row.options ?? [])])) {
    counts.set(literal(part), (counts.get(literal(part)) ?? 0) + 1)
  }
  const shared = new Map(
    [...counts].filter(([, count]) => count > 1).map(([text], index) => [text, `P${index}`]),
  )
  const listOf = (parts: readonly object[] | undefined) =>
    parts && new Code(`[${parts.map((part) => shared.get(literal(part)) ?? literal(part)).join(', ')}]`)
  return [
    ...[...shared].map(([text, name]) => `const ${name} = ${text} as const`),
    '',
    `export const ${declared} = [`,
    ...rows.map(
      (row) => `  ${literal({ ...row, arguments: listOf(row.arguments), options: listOf(row.options) })},`,
    ),
    ']',
    '',
  ]
}

class Code {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** As the formatter of this repository would write it, on one line. */
function literal(value: unknown): string {
  if (value instanceof Code) return value.text
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).filter(([, one]) => one !== undefined)
  return `{ ${fields.map(([key, one]) => `${/^[a-z]\w*$/i.test(key) ? key : quoted(key)}: ${literal(one)}`).join(', ')} }`
}

const quoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
