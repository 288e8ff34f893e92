/** The rows of a file, part by part: each with its line, or with what is wrong with it. */
import type { LoadFormat } from '../../contracts/loads.ts'
import { LOAD_COLUMNS_MAX } from '../../contracts/limits.ts'
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
}

const DELIMITERS = [',', ';', '\t'] as const
const UTF8_MARK = [0xef, 0xbb, 0xbf]

/** From the beginning of a file: as much of it as the longest row. */
export function readHeader(format: LoadFormat, bytes: Buffer, isLast: boolean): Header {
  const start = UTF8_MARK.every((byte, at) => bytes[at] === byte) ? UTF8_MARK.length : 0
  const refuse = (problem: string): Header => ({
    headers: [],
    delimiter: ',',
    consumed: start,
    line: 1,
    problems: [`line 1: ${problem}`],
  })
  if (isUtf16(bytes)) return refuse('the file is UTF-16; save it as UTF-8')
  const rest = bytes.subarray(start)
  if (format === 'ndjson') {
    const headers = namesIn(rest)
    if (!headers || headers.length === 0) return refuse('the line is not a JSON object with names')
    return { headers, delimiter: ',', consumed: start, line: 1, problems: problemsOf(headers) }
  }
  const [best] = DELIMITERS.map((delimiter) => ({
    delimiter,
    ...firstRow(rest, delimiter, isLast),
  })).toSorted((one, other) => other.headers.length - one.headers.length)
  if (best!.problem !== undefined) return refuse(best!.problem)
  const headers = best!.headers.map((header) => header.trim())
  const { delimiter, consumed, line } = best!
  return { headers, delimiter, consumed: start + consumed, line, problems: problemsOf(headers) }
}

const isUtf16 = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

function firstRow(bytes: Buffer, delimiter: string, isLast: boolean) {
  const { rows, consumed, line } = readCsv(bytes, { delimiter, headers: [], line: 1, isLast, rowsMax: 1 })
  const [row] = rows
  if (row && 'cells' in row) return { headers: row.cells, consumed, line }
  return { headers: [], consumed, line, problem: row?.problem ?? 'the file has no header' }
}

function problemsOf(headers: readonly string[]): string[] {
  const problems: string[] = []
  if (headers.length > LOAD_COLUMNS_MAX) {
    problems.push(`line 1: the file has ${headers.length} columns; at most ${LOAD_COLUMNS_MAX} are loaded`)
  }
  const seen = new Set<string>()
  for (const [at, header] of headers.entries()) {
    if (header === '') problems.push(`line 1: column ${at + 1} has no name`)
    else if (seen.has(header)) problems.push(`line 1: column ${at + 1} has the name of an earlier one`)
    seen.add(header)
  }
  return problems
}
