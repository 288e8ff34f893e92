/** The rows of a file, part by part: each with its line, or with what is wrong with it. */
import type { LoadFormat } from '../../contracts/load-formats.ts'
import { LOAD_COLUMN_NAME_CHARACTERS, LOAD_COLUMNS_MAX } from '../../contracts/limits.ts'
import type { ReadPart, Reading } from './raw-row.ts'
import { readCsv } from './read-csv.ts'
import { bytesBefore, encodingOf, toUtf8, type Encoding } from './encoding.ts'
import { beginJson, JSON_LIST, objectsIn, readJson } from './read-json.ts'
import { linesIn, namesIn, readNdjson } from './read-ndjson.ts'
import type { TableFormat } from './read-table.ts'

/** The others are turned into NDJSON before. */
export type TextFormat = Exclude<LoadFormat, TableFormat>

export const isTable = (format: LoadFormat): format is TableFormat =>
  format === 'xlsx' || format === 'parquet'

const READERS: Record<TextFormat, (bytes: Buffer, reading: Reading) => ReadPart> = {
  csv: readCsv,
  ndjson: readNdjson,
  json: readJson,
}

/** Rows with as many values as there are columns; what is wrong with the others. */
export function readRows(format: LoadFormat, bytes: Buffer, reading: Reading): ReadPart {
  const { length } = reading.headers
  const part = readPart(READERS[isTable(format) ? 'ndjson' : format], bytes, reading)
  return {
    ...part,
    rows: part.rows.map((row) =>
      'cells' in row && row.cells.length !== length
        ? { line: row.line, problem: `the row has ${values(row.cells.length)}, and the header has ${length}` }
        : row,
    ),
  }
}

function readPart(read: (typeof READERS)[TextFormat], bytes: Buffer, reading: Reading): ReadPart {
  if (!reading.encoding) return read(bytes, reading)
  const utf8 = toUtf8(bytes, reading.encoding, reading.isLast)
  const part = read(utf8, reading)
  const isAll = reading.isLast && part.consumed === utf8.length
  return { ...part, consumed: isAll ? bytes.length : bytesBefore(utf8, part.consumed) }
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
  /** Columns whose values are kept as JSON. */
  readonly jsons?: readonly string[]
  /** Undefined: UTF-8. */
  readonly encoding?: Encoding | undefined
  /** Of a workbook. */
  readonly sheets?: readonly string[]
  readonly sheet?: string | undefined
}

const DELIMITERS = [',', ';', '\t', '|']
/** What Excel writes before the header: any mark of ASCII, but none that ends values or rows anyway. */
const SEPARATOR_LINE = /^sep=([\x20-\x7e\t])\r?\n/i
const UTF8_MARK = [0xef, 0xbb, 0xbf]

/** From the beginning of a file: as much of it as the longest row. */
export function readHeader(format: TextFormat, bytes: Buffer, isLast: boolean, delimiter?: string): Header {
  const found = encodingOf(bytes)
  if (!found) {
    const start = UTF8_MARK.every((byte, at) => bytes[at] === byte) ? UTF8_MARK.length : 0
    const header = headerIn(format, bytes.subarray(start), isLast, delimiter)
    return { ...header, consumed: start + header.consumed }
  }
  const { encoding, mark } = found
  const utf8 = toUtf8(bytes.subarray(mark), encoding, isLast)
  const header = headerIn(format, utf8, isLast, delimiter)
  return { ...header, encoding, consumed: mark + bytesBefore(utf8, header.consumed) }
}

function headerIn(format: TextFormat, bytes: Buffer, isLast: boolean, chosen: string | undefined): Header {
  if (format === 'ndjson')
    return headerOfObjects(linesIn(bytes, isLast), 'the line is not a JSON object with names')
  if (format === 'json') {
    const { at, isList } = beginJson(bytes)
    const line = 1 + bytes.subarray(0, at).filter((byte) => byte === 0x0a).length
    const header = headerOfObjects(objectsIn(bytes), 'the file is no list of JSON objects with names')
    return { ...header, ...(isList && { delimiter: JSON_LIST }), consumed: at, line }
  }
  const [said = '', mark = '"'] = SEPARATOR_LINE.exec(bytes.toString('latin1', 0, 10)) ?? []
  const isSaid = mark !== '"'
  const marks = chosen === undefined ? (isSaid ? [mark] : DELIMITERS) : [chosen]
  const [best] = marks
    .map((delimiter) => ({
      delimiter,
      ...firstRow(isSaid ? bytes.subarray(said.length) : bytes, delimiter, isLast, isSaid ? 2 : 1),
    }))
    .toSorted((one, other) => other.headers.length - one.headers.length)
  const { delimiter, consumed, line, at, problem } = best!
  const unusable = problem ?? unusableHeader(best!.headers)
  if (unusable !== undefined) return refuse(unusable, at)
  const headers = best!.headers.map((header) => header.trim())
  return {
    headers,
    delimiter,
    consumed: (isSaid ? said.length : 0) + consumed,
    line,
    problems: problemsOf(headers, at),
  }
}

const refuse = (problem: string, at = 1): Header => ({
  headers: [],
  delimiter: ',',
  consumed: 0,
  line: 1,
  problems: [`line ${at}: ${problem}`],
})

function headerOfObjects(objects: Parameters<typeof namesIn>[0], otherwise: string): Header {
  const { names: headers, line, lists, jsons } = namesIn(objects)
  if (!headers || headers.length === 0) return refuse(otherwise, line)
  return { ...headerOf(headers, lists, line), jsons }
}

/** Of a file that names its columns elsewhere than in its first row. */
export function headerOf(headers: readonly string[], lists: readonly string[], line: number): Header {
  if (headers.length === 0) return refuse('the file has no header', line)
  const unusable = unusableHeader(headers)
  if (unusable !== undefined) return refuse(unusable, line)
  return { headers, delimiter: ',', consumed: 0, line: 1, problems: problemsOf(headers, line), lists }
}

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
