/** Typed access to the options of a call; a wrong value is an error that names its option. */
import type { CommandInput } from './command.ts'
import { usageError } from './usage-error.ts'

export function textOption({ options }: CommandInput, long: string): string | undefined {
  const value = options[long]
  return typeof value === 'string' ? value : undefined
}

export function listOption({ options }: CommandInput, long: string): readonly string[] {
  const value = options[long]
  return Array.isArray(value) ? (value as readonly string[]) : []
}

export const isSet = ({ options }: CommandInput, long: string): boolean => options[long] === true

export function countOption(input: CommandInput, long: string, max: number, min = 1): number | undefined {
  const text = textOption(input, long)
  return text === undefined ? undefined : countFrom(`--${long}`, text, max, min)
}

/** `name` as people know it: `--limit` or `<limit>`. */
export function countFrom(name: string, text: string, max = Number.MAX_SAFE_INTEGER, min = 1): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= min && count <= max) return count
  throw usageError(`Invalid value for ${name}: ${text}`, `Must be a whole number from ${min} to ${max}`)
}

/** The server counts without the spaces around it. */
export function refuseLonger(name: string, text: string, max = Infinity): void {
  const { length } = text.trim()
  if (length <= max) return
  throw usageError(`The value of ${name} is too long`, `Must be at most ${max} characters; it has ${length}`)
}

/** An ISO 8601 date or time. */
export function timeFrom(name: string, text: string): string {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : new Date(NaN)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw usageError(
    `Invalid value for ${name}: ${text}`,
    'Must be a date or a time, such as 2026-11-15 or 2026-11-15T08:00:00Z',
  )
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time, or how long ago it was: `15m`, `2h`, `1d`. */
export function agoFrom(name: string, text: string): string {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined) return timeFrom(name, text)
  return new Date(Date.now() - Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]).toISOString()
}

/** `--enable` and `--disable`; neither leaves it as it is. */
export function enabledOf(input: CommandInput): { enabled?: boolean } {
  const [on, off] = [isSet(input, 'enable'), isSet(input, 'disable')]
  if (on && off) throw usageError('--enable conflicts with --disable', 'Remove one of them')
  return on || off ? { enabled: on } : {}
}

/** The parser has checked that required arguments are there. */
export const argument = ({ args }: CommandInput, name: string): string => args[name] ?? ''
