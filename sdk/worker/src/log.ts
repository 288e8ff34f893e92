/** Lines of a worker and its runs: printed, and forwarded where that was asked for. */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>
type Write = (text: string, fields?: LogFields) => void
export type Log = Readonly<Record<LogLevel, Write>>

export type LogLine = {
  readonly level: LogLevel
  readonly text: string
  readonly fields: LogFields
  readonly at: Date
}

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** `fields` stand behind every line. */
export function createLog(write: (line: LogLine) => void, fields: LogFields = {}): Log {
  const at =
    (level: LogLevel): Write =>
    (text, more = {}) =>
      write({ level, text, fields: { ...fields, ...more }, at: new Date() })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export function printLine({ level, text, fields }: LogLine): void {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined)
  console[level](text, ...(shown.length > 0 ? [Object.fromEntries(shown)] : []))
}
