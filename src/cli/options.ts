/** Options as the commands need them: checked, and with their name in the sentence when they are wrong. */
import type { Call } from './command.ts'
import { usage } from './usage.ts'

export function textOption({ options }: Call, long: string): string | undefined {
  const value = options[long]
  return typeof value === 'string' ? value : undefined
}

export function listOption({ options }: Call, long: string): readonly string[] {
  const value = options[long]
  return Array.isArray(value) ? (value as readonly string[]) : []
}

export const isSet = ({ options }: Call, long: string): boolean => options[long] === true

export function countOption(call: Call, long: string, max: number): number | undefined {
  const text = textOption(call, long)
  if (text === undefined) return undefined
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= max) return count
  throw usage(`--${long} cannot be ${text}`, `It is a whole number from 1 to ${max}`)
}

/** A day, or a moment of it, as ISO 8601 writes them. */
export function timeOption(call: Call, long: string): string | undefined {
  const text = textOption(call, long)
  if (text === undefined) return undefined
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : new Date(NaN)
  if (Number.isNaN(time.getTime())) {
    throw usage(
      `--${long} cannot be ${text}`,
      `It is a time such as 2026-11-15T08:00:00Z, or a day: 2026-11-15`,
    )
  }
  return time.toISOString()
}

/** Arguments are there, or the call would not have been read. */
export const argument = ({ args }: Call, name: string): string => args[name] ?? ''
