/**
 * Whether a log line can tell of an error at all: a statement that writes what somebody sent writes their stack traces, too. It
 * is told by what it logs: a variable that holds an error.
 */
import type { Match, Reader } from './reader.ts'

/** Lines above and below in which the error is caught or named. */
const NEAR = 3

const LOGS = /\b(?:log|logger|logging|console|print\w*|puts|echo|warn|error|info|debug|fmt|slog|write)\b/i
const THROWS = /\b(?:throw|raise|panic|reject|Errorf|errors\.New)\b/
/** `error.message`, `err`, `$e`, `exc_info`, `log.exception(…)`, without the names of levels. */
const ERROR_VALUE =
  /(?<![\w-])(?:e|err|error|errors?|ex|exc|exception|cause|reason|failure|problem|stack|trace|traceback)(?![\w-])|exc_info|\.exception\(|print_exc|\$!|\brescue\b|\bcatch\b|\bexcept\b|\brecover\(\)|[a-z](?:Err|Error|Exception)\b/
const LEVEL_CALL =
  /\b(?:console|log|logger|logging|slog|LOG|LOGGER|_logger|self\.log(?:ger)?)\s*(?:\.|->|::)\s*(?!exception\b)\w+\s*\(|\b(?:level|severity)\b\W{0,4}["'`]?\w+["'`]?|["'`](?:error|ERROR)["'`]|\b(?:warn|error|info|debug)!?\(/g

/** It logs, throws nothing, and no error is near: what it writes besides its own words is what somebody sent. */
export async function logsOnlyData(reader: Reader, { path, line, text }: Match): Promise<boolean> {
  if (THROWS.test(text) || ERROR_VALUE.test(codeOf(text))) return false
  const window = await reader.around(path, line)
  const near =
    window?.lines.slice(Math.max(0, line - NEAR - window.start), line + NEAR + 1 - window.start) ?? []
  return near.some((other) => LOGS.test(other)) && !near.some((other) => ERROR_VALUE.test(codeOf(other)))
}

/** Without the call of the logger and what is said in words; what is put into the words stays. */
const codeOf = (line: string): string =>
  line
    .replaceAll(LEVEL_CALL, ' ')
    .replaceAll(QUOTED, (quoted) => (quoted.match(/[$#]?\{[^{}]{0,100}\}/g) ?? []).join(' '))

const QUOTED = /(["'`])(?:(?!\1)[^\\]|\\.){0,300}\1/g

/** What it says in words. */
export const wordsOf = (text: string): string =>
  (text.match(QUOTED) ?? []).join(' ').replaceAll(/["'`]|[$#]?\{[^{}]{0,100}\}/g, ' ')
