/** Structured log lines: one JSON object a line, or short text on a terminal. Secrets and row values never get in. */
import { describeError } from './describe-error.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

type Fields = Record<string, unknown>
type Write = (event: string, fields?: Fields) => void
export type Logger = Record<Exclude<LogLevel, 'silent'>, Write>

/** A key that sounds like a secret is one; the value is not looked at. */
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
      const entry = { time: options.clock().toISOString(), level, event, ...clean(fields) }
      options.write(options.pretty ? prettyLine(entry) : `${JSON.stringify(entry)}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function clean(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => {
        if (value instanceof Error || key === 'error') return [key, describeError(value)]
        if (SECRET_KEY.test(key) && typeof value === 'string') return [key, '[hidden]']
        return [key, value]
      }),
  )
}

function prettyLine({ time, level, event, ...rest }: { time: string; level: string; event: string }): string {
  const details = Object.entries(rest).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${key}=${text}`
  })
  const mark = level === 'info' ? '' : `${level.toUpperCase()} `
  return `${[time.slice(11, 19), mark + event, ...details].join('  ')}\n`
}
