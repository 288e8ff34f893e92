/**
 * Lines as programs write them: one JSON object each, in the words of the common log libraries, or plain text. What is
 * no JSON is text, so that nothing is lost.
 */
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { turnGiver } from './give-turn.ts'
import { levelOfWord } from './log-level.ts'
import { READ_MAX, refuseFurtherLines, type LogRecord, type ReadLogs } from './log-record.ts'

export async function readNdjson(body: Uint8Array): Promise<ReadLogs> {
  const text = new TextDecoder().decode(body)
  const records: LogRecord[] = []
  const giveTurn = turnGiver()
  for (let from = 0, lines = 0; from < text.length; lines++) {
    const end = text.indexOf('\n', from)
    const to = end === -1 ? text.length : end
    // Empty ones count: there may be twenty million.
    refuseFurtherLines(lines)
    const turn = giveTurn(to - from)
    if (turn) await turn
    const line = text.slice(from, to).trimEnd()
    from = to + 1
    if (line !== '') records.push(recordOf(line))
  }
  return { records, rejected: 0 }
}

/** Of a longer one only the beginning is kept anyway; parsed it could be hundreds of megabytes. */
const PARSED_MAX = 128 * 1024

function recordOf(line: string): LogRecord {
  if (!line.startsWith('{') || line.length > PARSED_MAX) return plain(line)
  try {
    return structured(JSON.parse(line) as Record<string, unknown>, line)
  } catch {
    // No JSON, or nested so deeply that it cannot be written again.
    return plain(line)
  }
}

const NAMES = {
  text: ['message', 'msg', 'text', 'body', 'log', '@message'],
  level: ['level', 'severity', 'lvl', 'log.level', 'severityText', 'levelname'],
  at: ['time', 'timestamp', 'ts', '@timestamp', 'at', 'date'],
  service: ['service', 'service.name', 'app'],
  traceId: ['trace_id', 'traceId', 'trace.id', 'traceid'],
} as const

function structured(fields: Record<string, unknown>, line: string): LogRecord {
  const rest = new Map(Object.entries(fields))
  const take = <T>(names: readonly string[], read: (value: unknown) => T | undefined): T | undefined => {
    for (const name of names) {
      const value = read(rest.get(name))
      if (value === undefined) continue
      rest.delete(name)
      return value
    }
    return undefined
  }
  const at = take(NAMES.at, timeOf)
  const level = take(NAMES.level, levelOf)
  const service = take(NAMES.service, nameOf)
  const traceId = take(NAMES.traceId, traceIdOf)
  const message = take(NAMES.text, messageOf)
  return {
    at: at ?? null,
    level: level ?? 'info',
    text: (message === undefined ? line : withRest(message, rest)).slice(0, READ_MAX),
    service: service ?? null,
    traceId: traceId ?? null,
  }
}

/** What else was logged stands behind the message; a stack trace on lines of its own. */
function withRest(message: string, rest: Map<string, unknown>): string {
  const stack = stackIn(rest)
  for (const name of ['pid', 'hostname', 'v']) rest.delete(name)
  const others = rest.size === 0 ? '' : ` ${JSON.stringify(Object.fromEntries(rest))}`
  return `${message}${others}${stack === undefined ? '' : `\n${stack}`}`
}

function stackIn(rest: Map<string, unknown>): string | undefined {
  for (const name of ['stack', 'stack_trace', 'exception', 'err', 'error']) {
    const value = rest.get(name)
    const stack =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)['stack'] : value
    if (typeof stack !== 'string' || !stack.includes('\n')) continue
    rest.delete(name)
    return stack
  }
  return undefined
}

const messageOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

const nameOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, 200) : undefined

const traceIdOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[0-9a-f]{32}$/i.test(value) ? value.toLowerCase() : undefined

/** Numbers as pino and bunyan have them: 10 is trace, 60 fatal. */
function levelOf(value: unknown): LogLevel | undefined {
  if (typeof value === 'string') return levelOfWord(value)
  return typeof value === 'number' ? LOG_LEVELS[Math.floor(value / 10) - 1] : undefined
}

/** ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size. */
function timeOf(value: unknown): Date | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const number = typeof value === 'number' || /^\d{9,20}(\.\d+)?$/.test(value) ? Number(value) : undefined
  const date = new Date(number === undefined ? value : milliseconds(number))
  return Number.isNaN(date.getTime()) ? undefined : date
}

function milliseconds(number: number): number {
  if (number < 1e11) return number * 1000
  if (number < 1e14) return number
  return number < 1e17 ? number / 1000 : number / 1e6
}

/** A word in capitals, or `level=warn`, near the beginning. */
const LEVEL_IN_LINE =
  /\b(?:level["']?[=:]\s?["']?(\w+)|(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|PANIC)\b)/

/** The first word, as winston and .NET write it: what stands behind it, somebody may have sent. */
const LEVEL_FIRST =
  /^(?:\[(trace|debug|info|notice|warn(?:ing)?|error|fatal)\]|(trce|trace|dbug|debug|info|notice|warn(?:ing)?|fail|error|crit|fatal):|(trace|debug|info|warn))\s/
/** No object: a line may name anything that every object has. */
const SHORT_WORDS = new Map([
  ['trce', 'trace'],
  ['dbug', 'debug'],
  ['fail', 'error'],
])

function plain(line: string): LogRecord {
  const first = LEVEL_FIRST.exec(line)?.slice(1).find(Boolean)
  const [, named, word] = first === undefined ? (LEVEL_IN_LINE.exec(line.slice(0, 120)) ?? []) : [line, first]
  const level = levelOfWord(SHORT_WORDS.get(named ?? '') ?? named ?? word ?? '') ?? 'info'
  return { at: null, level, text: line.slice(0, READ_MAX), service: null, traceId: null }
}
