/** The level of a line: by OpenTelemetry's number, else by the word that the sender uses. */
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'

/** Four numbers each (OpenTelemetry, Logs Data Model, severity fields). */
export const levelOfNumber = (severity: number): LogLevel | undefined =>
  Number.isInteger(severity) && severity >= 1 && severity <= 24
    ? LOG_LEVELS[Math.floor((severity - 1) / 4)]
    : undefined

/** By how the word begins: `warning`, `err`, `information`, `critical`. */
const WORDS: readonly (readonly [RegExp, LogLevel])[] = [
  [/^(?:trace|verbose|silly|finest)/, 'trace'],
  [/^(?:debug|fine)/, 'debug'],
  [/^(?:info|notice|log$)/, 'info'],
  [/^warn/, 'warn'],
  [/^(?:err|severe)/, 'error'],
  [/^(?:fatal|crit|alert|emerg|panic)/, 'fatal'],
]

export function levelOfWord(word: string): LogLevel | undefined {
  const lower = word.trim().toLowerCase()
  return WORDS.find(([pattern]) => pattern.test(lower))?.[1]
}
