/** Structured log lines: one JSON object a line, or short text on a terminal. Secrets and row values never get in. */
import { describeError } from './describe-error.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

type Fields = Record<string, unknown>
type Write = (event: string, fields?: Fields) => void
export type Logger = Record<Exclude<LogLevel, 'silent'>, Write>

/** The value of such a key is hidden, unless it is a number or a boolean. */
const SECRET_KEY = /token|secret|password|passwd|authorization|cookie|api_?key|verifier|signature/i

export function createLogger(options: {
  level: LogLevel
  pretty: boolean
  write: (line: string) => void
  clock: () => Date
}): Logger {
  const lowest = LOG_LEVELS.indexOf(options.level)
  const at =
    (level: Exclude<LogLevel, 'silent'>): Write =>
    (event, fields = {}) => {
      if (LOG_LEVELS.indexOf(level) < lowest) return
      const { error, ...rest } = fields
      const cleaned = cleanFields({ ...rest, error: describeError(error) }, 0)
      const entry = { time: options.clock().toISOString(), level, event, ...cleaned }
      options.write(`${onOneLine(options.pretty ? prettyLine(entry) : JSON.stringify(entry))}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Deeper than any field of ours; it also ends circular values. */
const MAX_DEPTH = 8

const cleanFields = (fields: object, depth: number): Fields =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [
        key,
        SECRET_KEY.test(key) && isContent(value) ? '[hidden]' : clean(value, depth),
      ]),
  )

const isContent = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null)

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return describeError(value)
  if (value instanceof Date || value instanceof URL) return value.toJSON()
  if (depth === MAX_DEPTH) return '[deeper]'
  return Array.isArray(value) ? value.map((item) => clean(item, depth + 1)) : cleanFields(value, depth + 1)
}

/**
 * A line break could forge a line, an escape sequence could control the terminal of a reader. JSON escapes the first 32
 * characters itself; the others end lines for some readers.
 */
const onOneLine = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

function prettyLine({ time, level, event, ...rest }: { time: string; level: string; event: string }): string {
  const details = Object.entries(rest).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${key}=${text}`
  })
  const mark = level === 'info' ? '' : `${level.toUpperCase()} `
  return [time.slice(11, 19), mark + event, ...details].join('  ')
}
