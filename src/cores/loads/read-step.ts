/** Reads rows of the file into the staging table, and notes what is wrong with them. */
import type { StoredPlan } from '../../../db/schema.ts'
import { LOAD_ID_CHARACTERS, LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import type { LoadRow } from './load-rows.ts'
import type { RawRow } from './raw-row.ts'
import { readRows } from './read-rows.ts'
import { readContent, rowsTable } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'

/** Several times the longest row, so that each part has at least one. */
const WINDOW_BYTES = 1024 * 1024

export const readStep: Step = async ({ queries, plan }, load) => {
  if (load.readBytes >= load.bytes) return { phase: 'checking' }
  const content = await readContent(queries, load.id, load.readBytes, WINDOW_BYTES)
  if (content.length === 0) throw new LoadFailed('staging_lost')
  const part = readRows(load.format, content, {
    delimiter: plan.delimiter,
    headers: plan.columns.map(({ header }) => header),
    line: load.readLines,
    isLast: load.readBytes + content.length >= load.bytes,
  })
  // The window is larger than any row: somebody deleted a part behind this one.
  if (part.consumed === 0) throw new LoadFailed('staging_lost')
  const rows = part.rows.map((row) => checkRow(row, plan))
  // Numbered with the wrong ones, so that a row has the same number when it is read again.
  const stored = rows.flatMap((row, at) =>
    'cells' in row ? [[load.rows + at + 1, row.line, row.cells]] : [],
  )
  if (stored.length > 0) {
    await queries.query(
      `insert into ${rowsTable(load.id)} (n, line, cells)
        select (e ->> 0)::bigint, (e ->> 1)::bigint, e -> 2 from jsonb_array_elements($1::text::jsonb) e
        on conflict (n) do nothing`,
      [JSON.stringify(stored)],
    )
  }
  const problems = rows.flatMap((row) => ('problem' in row ? [`line ${row.line}: ${row.problem}`] : []))
  return {
    readBytes: part.isBroken ? load.bytes : load.readBytes + part.consumed,
    readLines: part.line,
    rows: load.rows + rows.length,
    ...withProblems(load, problems),
  }
}

export const withProblems = (
  { problems, problemCount }: Pick<LoadRow, 'problems' | 'problemCount'>,
  further: readonly string[],
): Pick<LoadRow, 'problems' | 'problemCount'> => ({
  problems: [...problems, ...further].slice(0, LOAD_PROBLEMS_SHOWN),
  problemCount: problemCount + further.length,
})

function checkRow(row: RawRow, { id, embed, columns }: StoredPlan): RawRow {
  if ('problem' in row) return row
  const { line, cells } = row
  const key = id === -1 ? undefined : cells[id]!
  if (key?.trim() === '') return { line, problem: `column ${columns[id]!.name}, the id, is empty` }
  if (key !== undefined && key.length > LOAD_ID_CHARACTERS) {
    return {
      line,
      problem: `column ${columns[id]!.name}, the id, has more than ${LOAD_ID_CHARACTERS} characters`,
    }
  }
  if (embed.every((at) => cells[at]!.trim() === '')) return { line, problem: 'there is no text to embed' }
  return row
}
