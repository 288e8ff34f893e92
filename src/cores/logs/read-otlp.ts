/**
 * Logs as OpenTelemetry sends them (opentelemetry-proto, logs/v1), as JSON or protobuf. A record that cannot be read is
 * counted and left out, as partial success has it; the others are kept.
 */
import type { LogLevel } from '../../contracts/log-levels.ts'
import { levelOfNumber, levelOfWord } from './log-level.ts'
import { READ_MAX, refuseFurtherLines, type LogRecord, type ReadLogs } from './log-record.ts'
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
  attributes?: Record<string, unknown> | undefined
  traceId?: string
}

/** Throws for what is not an ExportLogsServiceRequest at all. */
export function readOtlpProtobuf(body: Buffer): ReadLogs {
  const read = collector()
  for (const resourceLogs of messages(body, 1)) {
    const service = serviceOf(attributesIn(messages(resourceLogs, 1)[0] ?? Buffer.alloc(0), 1))
    for (const scopeLogs of messages(resourceLogs, 2)) {
      for (const record of messages(scopeLogs, 2)) read.take(service, () => rawOfProtobuf(record))
    }
  }
  return read.done()
}

export function readOtlpJson(body: unknown): ReadLogs {
  const read = collector()
  for (const resourceLogs of list(body, 'resourceLogs')) {
    const service = serviceOf(jsonAttributes(list(member(resourceLogs, 'resource'), 'attributes')))
    for (const scopeLogs of list(resourceLogs, 'scopeLogs')) {
      for (const record of list(scopeLogs, 'logRecords')) read.take(service, () => rawOfJson(record))
    }
  }
  return read.done()
}

function collector() {
  const records: LogRecord[] = []
  let rejected = 0
  return {
    take(service: string | null, readRaw: () => Raw): void {
      refuseFurtherLines(records.length + rejected)
      try {
        records.push(recordOf(readRaw(), service))
      } catch {
        rejected += 1
      }
    },
    done: (): ReadLogs => ({ records, rejected }),
  }
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

/** The body, and what an exception left among the attributes: without its stack trace an error says little. */
function textOf({ body, attributes }: Raw): string {
  if (attributes === undefined) return written(body).slice(0, READ_MAX)
  const parts = [written(body), ...EXCEPTION.map((name) => written(attributes[name]))]
  return parts
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, READ_MAX)
}

const EXCEPTION = ['exception.type', 'exception.message', 'exception.stacktrace']

function written(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function serviceOf(attributes: Record<string, unknown>): string | null {
  const name = attributes['service.name']
  return typeof name === 'string' && name !== '' ? name.slice(0, 200) : null
}

// Protobuf

const messages = (message: Buffer, number: number): Buffer[] =>
  [...readProtobuf(message)].filter((field) => field.number === number).map(({ bytes }) => bytes)

function rawOfProtobuf(record: Buffer): Raw {
  const raw: Raw = { at: 0, observedAt: 0 }
  const attributes: Buffer[] = []
  for (const { number, value, bytes } of readProtobuf(record)) {
    if (number === 1) raw.at = Number(value / NANOSECONDS)
    else if (number === 2) raw.severity = Number(value)
    else if (number === 3) raw.severityText = bytes.toString()
    else if (number === 5) raw.body = anyValue(bytes)
    else if (number === 6) attributes.push(bytes)
    else if (number === 9 && bytes.length === 16) raw.traceId = bytes.toString('hex')
    else if (number === 11) raw.observedAt = Number(value / NANOSECONDS)
  }
  if (attributes.length > 0) raw.attributes = keyValues(attributes)
  return raw
}

/** In a millisecond. */
const NANOSECONDS = 1_000_000n

const attributesIn = (message: Buffer, number: number): Record<string, unknown> =>
  keyValues(messages(message, number))

function keyValues(pairs: readonly Buffer[], depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      let key = ''
      let value: unknown
      for (const field of readProtobuf(pair)) {
        if (field.number === 1) key = field.bytes.toString()
        else if (field.number === 2) value = anyValue(field.bytes, depth)
      }
      return [key, value]
    }),
  )
}

function anyValue(message: Buffer, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new Error('nested too deeply')
  let value: unknown
  for (const field of readProtobuf(message)) value = valueOf(field, depth)
  return value
}

/** AnyValue is a `oneof`: the last one counts. */
function valueOf({ number, value, bytes }: ProtobufField, depth: number): unknown {
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
      return messages(bytes, 1).map((item) => anyValue(item, depth + 1))
    case 6:
      return keyValues(messages(bytes, 1), depth + 1)
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

function rawOfJson(record: unknown): Raw {
  const traceId = member(record, 'traceId')
  const attributes = list(record, 'attributes')
  const raw: Raw = {
    at: millisecondsIn(record, 'timeUnixNano'),
    observedAt: millisecondsIn(record, 'observedTimeUnixNano'),
    severity: Number(member(record, 'severityNumber') ?? 0),
    severityText: textIn(record, 'severityText'),
    body: jsonValue(member(record, 'body')),
    attributes: attributes.length === 0 ? undefined : jsonAttributes(attributes),
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

const jsonAttributes = (pairs: readonly unknown[], depth = 0): Record<string, unknown> =>
  Object.fromEntries(pairs.map((pair) => [textIn(pair, 'key'), jsonValue(member(pair, 'value'), depth)]))

function jsonValue(value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new Error('nested too deeply')
  const text = member(value, 'stringValue')
  if (text !== undefined) return text
  for (const name of ['boolValue', 'doubleValue', 'bytesValue']) {
    const found = member(value, name)
    if (found !== undefined) return found
  }
  const integer = member(value, 'intValue')
  if (integer !== undefined) return jsonNumber(BigInt(integer as string))
  const array = member(value, 'arrayValue')
  if (array !== undefined) return list(array, 'values').map((item) => jsonValue(item, depth + 1))
  const pairs = member(value, 'kvlistValue')
  return pairs === undefined ? undefined : jsonAttributes(list(pairs, 'values'), depth + 1)
}
