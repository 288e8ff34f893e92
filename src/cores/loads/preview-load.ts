/** What a person chooses the columns by, once the file is uploaded. */
import { ServiceError } from '../../contracts/errors.ts'
import type { LoadFormat } from '../../contracts/load-formats.ts'
import { nameFromFile } from '../../contracts/name-from-file.ts'
import { requireDiskQuota, writeToDatabase } from '../databases/index.ts'
import { read, type Verb } from '../verb.ts'
import { columnNames } from './column-names.ts'
import { recognizeValues } from './column-types.ts'
import { failingAsDatabase } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { fileFormatOf, requireLoad } from './load-rows.ts'
import { inTurn, readBeginning, readFirstBytes, ROWS_CONSIDERED } from './read-beginning.ts'
import { readRows, type Header } from './read-rows.ts'
import { suggestColumns } from './suggest-columns.ts'

const ROWS_SHOWN = 5
const PROBLEMS_SHOWN = 20
const VALUE_CHARACTERS = 120
/** Short enough to be read. */
const TABLE_CHARACTERS = 50

export const previewLoad: Verb<'previewLoad', LoadDeps> = read(async (context, { load_id, ...chosen }) => {
  const { db, orgId } = context
  const { load, source } = await requireLoad(db, orgId, load_id)
  fileFormatOf(load)
  if (load.state !== 'uploading' || load.received < load.bytes) {
    throw new ServiceError(
      'CONFLICT',
      'There is a preview between the upload of a file and the start of its load',
    )
  }
  await requireDiskQuota(db, load.orgId, source.kind)
  const { header, content, isAll } = await inTurn(context, load, async (signal) => {
    const first = await failingAsDatabase(() =>
      writeToDatabase(context, source, (queries) => readFirstBytes(queries, load), { signal }),
    )
    return readBeginning(context, load, first, chosen)
  })
  const names = columnNames(header.headers)
  const { rows } =
    names.length === 0
      ? { rows: [] }
      : readRows(fileFormatOf(load), content, { ...header, isLast: isAll, rowsMax: ROWS_CONSIDERED })
  const considered = rows.flatMap((row) => ('cells' in row ? [row.cells] : []))
  const problems = rows.flatMap((row) => ('problem' in row ? [`line ${row.line}: ${row.problem}`] : []))
  return {
    sheets: [...(header.sheets ?? [])],
    sheet: header.sheet ?? null,
    columns: names.map((name, at) => ({
      name,
      header: header.headers[at]!,
      ...typeOf(fileFormatOf(load), header, considered, at),
    })),
    rows: considered.slice(0, ROWS_SHOWN).map((cells) => cells.map(cut)),
    problems: [...header.problems, ...problems].slice(0, PROBLEMS_SHOWN),
    suggestion: {
      table: nameFromFile(load.filename, TABLE_CHARACTERS) || source.name,
      ...suggestColumns(names, considered),
    },
  }
})

/** Of an id nothing is recognized: it is known once it is chosen, and stays a text. */
function typeOf(
  format: LoadFormat,
  { headers, lists = [], jsons = [] }: Header,
  rows: readonly (readonly string[])[],
  at: number,
) {
  if ([...lists, ...jsons].includes(headers[at]!)) return { type: null, note: null }
  const type = recognizeValues(
    format,
    rows.map((cells) => cells[at] ?? ''),
  )
  return { type: type ?? ('text' as const), note: type === undefined ? AMBIGUOUS : null }
}

const AMBIGUOUS = 'Its values can be meant in two ways. Choose the type, or it stays a text.'

const cut = (value: string): string =>
  value.length > VALUE_CHARACTERS ? `${value.slice(0, VALUE_CHARACTERS).toWellFormed()}…` : value
