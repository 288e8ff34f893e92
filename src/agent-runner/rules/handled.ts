/** Whether the app expects an error: it catches just this one, logs it as no more than a warning, and goes on. */
import { faultOf, isSevere, type Fault } from './fault.ts'
import { statementOf } from './find-place.ts'
import type { Picture } from './picture.ts'
import { lineOf, type LogLine, type Window } from './reader.ts'

/** Lines above a statement in which the error that it logs is caught. */
const ABOVE = 12

/** `head`: the line that was logged with the error. Who catches everything expects nothing, so mistakes of the code count. */
export async function isHandled(picture: Picture, head: LogLine | null, fault: Fault): Promise<boolean> {
  if (head === null || isSevere(head.level)) return false
  const said = head.text.split('\n', 1)[0]!.slice(0, 500)
  const statement = await statementOf(
    picture,
    said.replaceAll(/\d+/g, '<n>'),
    ({ text }) => !THROWS.test(text),
  )
  const window = statement && (await picture.reader.around(statement.path, statement.line))
  const caught = window ? caughtAbove(window, statement.line) : null
  if (caught === null || !logsTrace(window!, statement!.line)) return false
  return fault !== 'code' || faultOf(said) === 'request' || !CATCHES_ALL.test(caught)
}

/** A trace below the line of another statement is of something that nobody caught. */
const logsTrace = (window: Window, line: number): boolean =>
  LOGS_TRACE.test(window.lines.slice(line - window.start, line - window.start + 3).join('\n'))

const THROWS = /\b(?:throw|raise|panic|reject)\b/

const LOGS_TRACE =
  /\bexc_info\b|\.exception\(|\bfull_message\b|\b\w*(?:stack|trace)\w*\b|[,.]\s*\$?(?:e|err|error|ex|exc|exception|cause)\s*\)|\{?\$(?:e|err|error|ex|exception)\b/i

const CATCH = /\bexcept\b|\bcatch\b|\brescue\b/
/** No type, or one that all have. */
const CATCHES_ALL =
  /\bexcept\s*:|\brescue\s*(?:=>|;|$)|\bcatch\s*(?:\{|\(\s*\w+\s*\)|$)|\b(?:Base)?Exception\b|\bThrowable\b|\bStandardError\b|\bRuntime(?:Exception|Error)\b|\(\s*(?:e|err|error)\s*:\s*(?:any|unknown)/

/** The line of the handler that a statement stands in, which begins further left. */
function caughtAbove(window: Window, line: number): string | null {
  let indent = indentOf(lineOf(window, line) ?? '')
  for (let above = line - 1; above >= Math.max(window.start, line - ABOVE); above -= 1) {
    const text = lineOf(window, above) ?? ''
    if (text.trim() === '' || indentOf(text) >= indent) continue
    if (CATCH.test(text)) return text
    indent = indentOf(text)
  }
  return null
}

const indentOf = (text: string): number => text.search(/\S/)
