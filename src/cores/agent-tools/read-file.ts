import { fileRef, ToolRefused } from '../../contracts/agent-tools.ts'
import { readFileOf, textOf } from '../revisions/index.ts'
import { fitRows } from './fit-rows.ts'
import { fileEvidence, isSecretFile, linesOf, shownLines } from './source-text.ts'
import type { ReadingTool } from './tool.ts'

/** Unless somebody asks for more. */
const LINES = 200

export const readFile: ReadingTool<'read_file'> = async ({ db }, run, { path, start, end }) => {
  if (run.baseRevisionId === null) throw new ToolRefused('NO_SOURCE')
  const content = await readFileOf(db, run, run.baseRevisionId, path)
  if (!content) throw new ToolRefused('NOT_FOUND')
  if (isSecretFile(path)) throw new ToolRefused('SECRET_FILE')
  const text = textOf(content)
  if (text === null) throw new ToolRefused('NOT_TEXT')
  const lines = linesOf(text)
  if (start > Math.max(1, lines.length))
    throw new ToolRefused('NOT_FOUND', [`the file has ${lines.length} lines`])
  if (end !== undefined && end < start) throw new ToolRefused('INVALID_ARGUMENTS', ['end: is before start'])
  const wanted = Math.min(end ?? start + LINES - 1, lines.length)
  const shown = fitRows(shownLines(lines, start, wanted))
  const last = start + shown.rows.length - 1
  const result = {
    ref: fileRef(path, start, Math.max(start, last)),
    path,
    start,
    end: Math.max(start, last),
    total_lines: lines.length,
    lines: shown.rows,
    truncated: shown.truncated || last < lines.length,
  }
  return { result, evidence: last < start ? [] : fileEvidence(path, lines, start, last) }
}
