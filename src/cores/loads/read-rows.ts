/** The rows of a file, part by part: each with its line, or with what is wrong with it. */
import type { LoadFormat } from '../../contracts/loads.ts'
import { LOAD_COLUMN_NAME_CHARACTERS, LOAD_COLUMNS_MAX } from '../../contracts/limits.ts'
import type { ReadPart, Reading } from './raw-row.ts'
import { readCsv } from './read-csv.ts'
import { namesIn, readNdjson } from './read-ndjson.ts'

const READERS: Record<LoadFormat, (bytes: Buffer, reading: Reading) => ReadPart> = {
  csv: readCsv,
  ndjson: readNdjson,
}

/** Rows with as many values as there are columns; what is wrong with the others. */
export function readRows(format: LoadFormat, bytes: Buffer, reading: Reading): ReadPart {
  const { length } = reading.headers
  const part = READERS[format](bytes, reading)
  return {
    ...part,
    rows: part.rows.map((row) =>
      'cells' in row && row.cells.length !== length
        ? { line: row.line, problem: `the row has ${values(row.cells.length)}, and the header has ${length}` }
        : row,
    ),
  }
}

const values = (count: number): string => (count === 1 ? '1 value' : `${count} values`)

export type Header = {
  readonly headers: readonly string[]
  readonly delimiter: string
  /** Where the first row begins. */
  readonly consumed: number
  readonly line: number
  readonly problems: readonly string[]
  /** Columns whose values are lists. */
  readonly lists?: readonly string[]
}

const DELIMITERS = [',', ';', '\t', '|']
/** What Excel writes before the header: any mark of ASCII, but none that ends values or rows anyway. */
const SEPARATOR_LINE = /^sep=([\x20-\x7e\t])\r?\n/i
const UTF8_MARK = [0xef, 0xbb, 0xbf]

/** From the beginning of a file: as much of it as the longest row. */
export function readHeader(format: LoadFormat, bytes: Buffer, isLast: boolean): Header {
  const start = UTF8_MARK.every((byte, at) => bytes[at] === byte) ? UTF8_MARK.length : 0
  const refuse = (problem: string, at = 1): Header => ({
    headers: [],
    delimiter: ',',
    consumed: start,
    line: 1,
    problems: [`line ${at}: ${problem}`],
  })
  if (isUtf16(bytes)) return refuse('the file is UTF-16; save it as UTF-8')
  const rest = bytes.subarray(start)
  if (format === 'ndjson') {
    const { names: headers, line, lists } = namesIn(rest, isLast)
    if (!headers || headers.length === 0) return refuse('the line is not a JSON object with names', line)
    const unusable = unusableHeader(headers)
    if (unusable !== undefined) return refuse(unusable, line)
    return { headers, delimiter: ',', consumed: start, line: 1, problems: problemsOf(headers, line), lists }
  }
  const [said = '', mark = '"'] = SEPARATOR_LINE.exec(rest.toString('latin1', 0, 10)) ?? []
  const isSaid = mark !== '"'
  const [best] = (isSaid ? [mark] : DELIMITERS)
    .map((delimiter) => ({
      delimiter,
      ...firstRow(isSaid ? rest.subarray(said.length) : rest, delimiter, isLast, isSaid ? 2 : 1),
    }))
    .toSorted((one, other) => other.headers.length - one.headers.length)
  const { delimiter, consumed, line, at, problem } = best!
  const unusable = problem ?? unusableHeader(best!.headers)
  if (unusable !== undefined) return refuse(unusable, at)
  const headers = best!.headers.map((header) => header.trim())
  return {
    headers,
    delimiter,
    consumed: start + (isSaid ? said.length : 0) + consumed,
    line,
    problems: problemsOf(headers, at),
  }
}

const isUtf16 = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

function firstRow(bytes: Buffer, delimiter: string, isLast: boolean, begin: number) {
  const { rows, consumed, line } = readCsv(bytes, { delimiter, headers: [], line: begin, isLast, rowsMax: 1 })
  const [row] = rows
  const at = row?.line ?? begin
  if (row && 'cells' in row) return { headers: row.cells, consumed, line, at }
  return { headers: [], consumed, line, at, problem: row?.problem ?? 'the file has no header' }
}

/** Nothing is done with such names: there may be a quarter of a million of them, or one as long. */
function unusableHeader(headers: readonly string[]): string | undefined {
  if (headers.length > LOAD_COLUMNS_MAX) {
    return `the file has ${headers.length} columns; at most ${LOAD_COLUMNS_MAX} are loaded`
  }
  const long = headers.findIndex((header) => header.length > LOAD_COLUMN_NAME_CHARACTERS)
  if (long === -1) return undefined
  return `the name of column ${long + 1} has more than ${LOAD_COLUMN_NAME_CHARACTERS} characters`
}

function problemsOf(headers: readonly string[], line: number): string[] {
  const problems: string[] = []
  const seen = new Set<string>()
  for (const [at, header] of headers.entries()) {
    const tell = (what: string) => problems.push(`line ${line}: column ${at + 1} has ${what}`)
    if (header === '') tell('no name')
    else if (seen.has(header)) tell('the name of an earlier one')
    else if (header.includes('\0') || !header.isWellFormed()) tell('a name that cannot be stored')
    seen.add(header)
  }
  return problems
}
