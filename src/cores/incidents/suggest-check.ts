/** A check that would find an error again: its pattern, and a window that fits how often it comes. Pure. */
import { patternFor } from '../checks/index.ts'
import { PLACEHOLDER } from '../logs/index.ts'
import type { ErrorLines } from './find-trouble.ts'

const NAME_MAX = 80
/** In minutes. */
const WINDOWS = [10, 60, 360, 1_440]

export const firstLineOf = (text: string): string => text.trimStart().split('\n', 1)[0]!.trimEnd()

export const suggestCheck = (log: ErrorLines) => {
  const text = log.lines[0]?.text ?? log.template
  return {
    name: nameOf(log.template),
    pattern: patternFor(log.template, text),
    level: log.level,
    window_minutes: windowFor(log),
  }
}

/** What differs is left open, and so is what no name may have. */
function nameOf(template: string): string {
  const words = template
    .split(PLACEHOLDER)
    .join('…')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  const short = [...words].length > NAME_MAX ? `${[...words].slice(0, NAME_MAX - 1).join('')}…` : words
  return short === '' ? 'Log lines' : short
}

/** Twice as long as it usually stays away, so that a check does not pass between two of its lines. */
function windowFor({ count, first_at: first, last_at: last }: ErrorLines): number {
  const minutes = (Date.parse(last) - Date.parse(first)) / 60_000
  const apart = count > 1 ? minutes / (count - 1) : 0
  return WINDOWS.find((window) => window >= 2 * apart) ?? WINDOWS.at(-1)!
}
