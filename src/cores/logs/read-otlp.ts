/**
 * Logs as OpenTelemetry sends them (opentelemetry-proto, logs/v1), as JSON or protobuf. A record that cannot be read is
 * counted and left out, as partial success has it; the others are kept.
 */
import { ServiceError } from '../../contracts/errors.ts'
import type { LogLevel } from '../../contracts/log-levels.ts'
import { turnGiver } from './give-turn.ts'
import { levelOfNumber, levelOfWord } from './log-level.ts'
import { partsCounter, READ_MAX, refuseFurtherLines, type LogRecord, type ReadLogs } from './log-record.ts'
import { parseJson } from './parse-json.ts'
import { readProtobuf, type ProtobufField } from './read-protobuf.ts'

/** A value may hold values. Nobody logs deeper than this. */
const DEPTH_MAX = 10

/** Times are milliseconds since 1970; 0 is unknown. */
type Raw = {
  at: number
  observedAt: number
  severity?: number
  severityText?: string
  body?: unknown
  eventName?: string
  attributes?: Record<string, unknown> | undefined
  traceId?: string
}

type Count = () => void

/** A record and the service it is of; undefined is a step on the way to the next one. */
type Found = { readonly service: string | null; readonly readRaw: (count: Count) => Raw } | undefined

/** Throws for what is not an ExportLogsServiceRequest at all. */
export const readOtlpProtobuf = (body: Buffer): Promise<ReadLogs> => readRecords(recordsOfProtobuf(body))

/** Takes what `parseOtlpJson` gives. */
export const readOtlpJson = (body: unknown): Promise<ReadLogs> => readRecords(recordsOfJson(body))

/** Throws for what is not JSON. */
export const parseOtlpJson = (body: Uint8Array): Promise<unknown> =>
  parseJson(new TextDecoder().decode(body), partsCounter())

/** Of one record: more than there is room for in a line, however they are written. */
const RECORD_PARTS_MAX = 4 * READ_MAX
/** A part takes as long as so many characters. */
const PART_CHARACTERS = 16

async function readRecords(found: Iterable<Found>): Promise<ReadLogs> {
  const records: LogRecord[] = []
  let rejected = 0
  const giveTurn = turnGiver()
  for (const one of found) {
    let parts = 0
    const count = () => {
      parts += 1
      if (parts > RECORD_PARTS_MAX) throw new Error('a record of too many values')
    }
    if (one) {
      refuseFurtherLines(records.length + rejected)
      try {
        records.push(recordOf(one.readRaw(count), one.service))
      } catch (error) {
        // The request has too many parts.
        if (error instanceof ServiceError) throw error
        rejected += 1
      }
    }
    const turn = giveTurn(parts * PART_CHARACTERS)
    if (turn) await turn
  }
  return { records, rejected }
}

function recordOf(raw: Raw, service: string | null): LogRecord {
  const text = textOf(raw)
  if (text === '') throw new Error('a record without text')
  return { at: timeOf(raw), level: levelOf(raw), text, service, traceId: raw.traceId ?? null }
}

const levelOf = ({ severity, severityText }: Raw): LogLevel =>
  levelOfNumber(severity ?? 0) ?? levelOfWord(severityText ?? '') ?? 'info'

function timeOf({ at, observedAt }: Raw): Date | null {
  const date = new Date(at || observedAt || Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date
}

/**
 * The body, and behind it as JSON what else was logged with it, as in lines of JSON; what an exception left stands on lines
 * of its own, because without its stack trace an error says little.
 */
function textOf({ body, eventName = '', attributes }: Raw): string {
  if (attributes === undefined && eventName === '') return written(body).slice(0, READ_MAX)
  const message = written(body)
  const rest = new Map(Object.entries(attributes ?? {}))
  if (message !== '' && eventName !== '') rest.set('event.name', eventName)
  const exception = EXCEPTION.map((name) => written(rest.get(name)))
  for (const name of EXCEPTION) rest.delete(name)
  const others = JSON.stringify(Object.fromEntries(rest))
  const first = [message || eventName, others === '{}' ? '' : others].filter((part) => part !== '').join(' ')
  return [first, ...exception]
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, READ_MAX)
}

const EXCEPTION = ['exception.type', 'exception.message', 'exception.stacktrace']

function written(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const SERVICE_NAME = 'service.name'

const serviceOf = (name: unknown): string | null =>
  typeof name === 'string' && name !== '' ? name.slice(0, 200) : null

// Protobuf

function* recordsOfProtobuf(body: Buffer): Generator<Found> {
  const count = partsCounter()
  for (const resourceLogs of messages(body, 1, count)) {
    yield undefined
    const service = yield* serviceOfProtobuf(resourceLogs, count)
    for (const scopeLogs of messages(resourceLogs, 2, count)) {
      yield undefined
      for (const record of messages(scopeLogs, 2, count)) {
        const countBoth = (countOwn: Count) => () => {
          count()
          countOwn()
        }
        yield { service, readRaw: (countOwn) => rawOfProtobuf(record, countBoth(countOwn)) }
      }
    }
  }
}

/** One after the other: nobody holds all of them at once. */
function* messages(message: Buffer, wanted: number, count: Count): Generator<Buffer> {
  for (const { bytes } of readProtobuf(message, count, wanted)) yield bytes
}

/** Of what else is known of the resource nothing is read: it may be megabytes. */
function* serviceOfProtobuf(resourceLogs: Buffer, count: Count): Generator<undefined, string | null> {
  const [resource = NOTHING] = messages(resourceLogs, 1, count)
  for (const pair of messages(resource, 1, count)) {
    yield undefined
    const [key = NOTHING] = messages(pair, 1, count)
    if (key.toString() !== SERVICE_NAME) continue
    const [value = NOTHING] = messages(pair, 2, count)
    const [name = NOTHING] = messages(value, 1, count)
    return serviceOf(name.toString())
  }
  return null
}

const NOTHING = Buffer.alloc(0)

function rawOfProtobuf(record: Buffer, count: Count): Raw {
  const raw: Raw = { at: 0, observedAt: 0 }
  const attributes: Buffer[] = []
  for (const { number, value, bytes } of readProtobuf(record, count)) {
    if (number === 1) raw.at = Number(value / NANOSECONDS)
    else if (number === 2) raw.severity = Number(value)
    else if (number === 3) raw.severityText = bytes.toString()
    else if (number === 5) raw.body = anyValue(bytes, count)
    else if (number === 6) attributes.push(bytes)
    else if (number === 9 && bytes.length === 16) raw.traceId = bytes.toString('hex')
    else if (number === 11) raw.observedAt = Number(value / NANOSECONDS)
    else if (number === 12) raw.eventName = bytes.toString()
  }
  if (attributes.length > 0) raw.attributes = keyValues(attributes, count)
  return raw
}

/** In a millisecond. */
const NANOSECONDS = 1_000_000n

function keyValues(pairs: Iterable<Buffer>, count: Count, depth = 0): Record<string, unknown> {
  const found: [string, unknown][] = []
  for (const pair of pairs) {
    let key = ''
    let value: unknown
    for (const field of readProtobuf(pair, count)) {
      if (field.number === 1) key = field.bytes.toString()
      else if (field.number === 2) value = anyValue(field.bytes, count, depth)
    }
    found.push([key, value])
  }
  return Object.fromEntries(found)
}

function anyValue(message: Buffer, count: Count, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new Error('nested too deeply')
  let value: unknown
  for (const field of readProtobuf(message, count)) value = valueOf(field, count, depth)
  return value
}

/** AnyValue is a `oneof`: the last one counts. */
function valueOf({ number, value, bytes }: ProtobufField, count: Count, depth: number): unknown {
  switch (number) {
    case 1:
      return bytes.toString()
    case 2:
      return value !== 0n
    case 3:
      return jsonNumber(BigInt.asIntN(64, value))
    case 4: {
      const double = Buffer.alloc(8)
      double.writeBigUInt64LE(value)
      return double.readDoubleLE()
    }
    case 5:
      return Array.from(messages(bytes, 1, count), (item) => anyValue(item, count, depth + 1))
    case 6:
      return keyValues(messages(bytes, 1, count), count, depth + 1)
    case 7:
      return bytes.toString('base64')
    default:
      return undefined
  }
}

/** As text where a number would lose digits, as JSON has it. */
const jsonNumber = (value: bigint): number | string =>
  Number.isSafeInteger(Number(value)) ? Number(value) : String(value)

// JSON

function* recordsOfJson(body: unknown): Generator<Found> {
  for (const resourceLogs of list(body, 'resourceLogs')) {
    yield undefined
    const service = serviceOfJson(resourceLogs)
    for (const scopeLogs of list(resourceLogs, 'scopeLogs')) {
      yield undefined
      for (const record of list(scopeLogs, 'logRecords')) {
        yield { service, readRaw: (count) => rawOfJson(record, count) }
      }
    }
  }
}

function serviceOfJson(resourceLogs: unknown): string | null {
  const attributes = list(member(resourceLogs, 'resource'), 'attributes')
  const named = attributes.find((pair) => member(pair, 'key') === SERVICE_NAME)
  return serviceOf(member(member(named, 'value'), 'stringValue'))
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

const textIn = (value: unknown, name: string): string => {
  const found = member(value, name)
  return typeof found === 'string' ? found : ''
}

function list(value: unknown, name: string): unknown[] {
  const found = member(value, name)
  return Array.isArray(found) ? found : []
}

function rawOfJson(record: unknown, count: Count): Raw {
  const traceId = member(record, 'traceId')
  const attributes = list(record, 'attributes')
  const raw: Raw = {
    at: millisecondsIn(record, 'timeUnixNano'),
    observedAt: millisecondsIn(record, 'observedTimeUnixNano'),
    severity: Number(simple(member(record, 'severityNumber')) ?? 0),
    severityText: textIn(record, 'severityText'),
    eventName: textIn(record, 'eventName'),
    body: jsonValue(member(record, 'body'), count),
    attributes: attributes.length === 0 ? undefined : jsonAttributes(attributes, count),
  }
  if (typeof traceId === 'string' && TRACE_ID.test(traceId)) raw.traceId = traceId.toLowerCase()
  return raw
}

const TRACE_ID = /^[0-9a-f]{32}$/i

/** 64 bits of nanoseconds are written as text; some senders write a number. */
function millisecondsIn(record: unknown, name: string): number {
  const value = member(record, name)
  if (typeof value === 'number') return value / 1e6
  return typeof value === 'string' && /^\d{7,20}$/.test(value) ? Number(value.slice(0, -6)) : 0
}

/** Those that fit: each takes a character at least of what is kept. Millions of numbers would become as many pairs. */
const fitting = (values: readonly unknown[]): readonly unknown[] => values.slice(0, READ_MAX)

const jsonAttributes = (pairs: readonly unknown[], count: Count, depth = 0): Record<string, unknown> =>
  Object.fromEntries(
    fitting(pairs).map((pair) => [textIn(pair, 'key'), jsonValue(member(pair, 'value'), count, depth)]),
  )

function jsonValue(value: unknown, count: Count, depth = 0): unknown {
  count()
  if (depth > DEPTH_MAX) throw new Error('nested too deeply')
  for (const name of ['stringValue', 'boolValue', 'doubleValue', 'bytesValue']) {
    const found = simple(member(value, name))
    if (found !== undefined) return found
  }
  const integer = member(value, 'intValue')
  if (integer !== undefined) return jsonNumber(integerOf(integer))
  const array = member(value, 'arrayValue')
  if (array !== undefined) {
    return fitting(list(array, 'values')).map((item) => jsonValue(item, count, depth + 1))
  }
  const pairs = member(value, 'kvlistValue')
  return pairs === undefined ? undefined : jsonAttributes(list(pairs, 'values'), count, depth + 1)
}

/** Lists and objects have no place here; writing them again could take long. */
function simple(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) throw new Error('not a simple value')
  return value
}

/** 64 bits are written as text; some senders write a number. A text of millions of digits would take minutes to convert. */
function integerOf(value: unknown): bigint {
  if (typeof value === 'number') return BigInt(value)
  if (typeof value === 'string' && INTEGER.test(value)) return BigInt(value)
  throw new Error('not a number')
}

const INTEGER = /^-?\d{1,20}$/
