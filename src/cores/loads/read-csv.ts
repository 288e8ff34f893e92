/**
 * Reads rows of CSV (RFC 4180) from the bytes of a part of a file. Own code: reading goes on at any row after a kill, so the
 * byte and the line of every row must be known; a row has a largest size; and all problems are wanted, not the first. Bytes
 * above 127 are never part of another character in UTF-8, so the ASCII marks are found without decoding.
 */
import { LOAD_COLUMNS_MAX, LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import { byteSize } from '../../contracts/byte-size.ts'
import { decodeText } from './decode-text.ts'
import type { RawRow, ReadPart, Reading } from './raw-row.ts'

const [QUOTE, NEWLINE, RETURN] = [0x22, 0x0a, 0x0d]

/** More bytes are needed to know how a row goes on. */
const UNFINISHED = 'unfinished'
/** A quoted value without an end: everything behind it would be part of it. */
const UNENDED = 'unended'

type Field = {
  readonly text: string
  readonly wasQuoted: boolean
  readonly problem?: string | undefined
  readonly end: number
}

export function readCsv(bytes: Buffer, { delimiter, line, isLast, rowsMax = Infinity }: Reading): ReadPart {
  const mark = delimiter.charCodeAt(0)
  const rows: RawRow[] = []
  let at = 0
  while (at < bytes.length && rows.length < rowsMax) {
    // A line without anything, of which there may be a million.
    if (bytes[at] === NEWLINE) {
      line += 1
      at += 1
      continue
    }
    const row = readRow(bytes, at, mark, isLast)
    if (row === UNENDED || (row === UNFINISHED && bytes.length - at > LOAD_RECORD_BYTES)) {
      return {
        rows: [...rows, { line, problem: endless(bytes, at) }],
        consumed: bytes.length,
        line,
        isBroken: true,
      }
    }
    if (row === UNFINISHED) break
    const isTooLong = row.end - at > LOAD_RECORD_BYTES
    if (isTooLong) rows.push({ line, problem: TOO_LONG })
    else if (!isBlank(row.fields)) rows.push({ line, ...contentOf(row.fields) })
    line += countLines(bytes, at, row.end)
    at = row.end
  }
  return { rows, consumed: at, line, isBroken: false }
}

const TOO_LONG = `the row is longer than ${byteSize(LOAD_RECORD_BYTES)}`

const endless = (bytes: Buffer, at: number): string =>
  bytes.indexOf(QUOTE, at) === -1
    ? `${TOO_LONG}; nothing behind it was checked`
    : 'a quoted value that begins in this row does not end, or is too long; nothing behind it was checked'

const isBlank = ([first, ...others]: readonly Field[]): boolean =>
  others.length === 0 && first!.text === '' && !first!.wasQuoted && !first!.problem

function contentOf(fields: readonly Field[]): { cells: string[] } | { problem: string } {
  const problem = fields.find((field) => field.problem)?.problem
  return problem === undefined ? { cells: fields.map(({ text }) => text) } : { problem }
}

function readRow(
  bytes: Buffer,
  start: number,
  mark: number,
  isLast: boolean,
): { fields: Field[]; end: number } | typeof UNFINISHED | typeof UNENDED {
  const fields: Field[] = []
  for (let at = start; ;) {
    // What is too much is counted and not decoded: a row may be a million commas.
    const isRead = fields.length <= LOAD_COLUMNS_MAX && at - start <= LOAD_RECORD_BYTES
    const field =
      bytes[at] === QUOTE ? readQuoted(bytes, at, mark, isLast, isRead) : readPlain(bytes, at, mark, isRead)
    if (field === UNFINISHED || field === UNENDED) return field
    fields.push(field)
    const next = bytes[field.end]
    if (next === mark) {
      at = field.end + 1
      continue
    }
    if (next === undefined) return isLast ? { fields, end: field.end } : UNFINISHED
    if (next === NEWLINE) return { fields, end: field.end + 1 }
    // A return at the end of a part may have its newline in the next.
    if (field.end + 1 === bytes.length && !isLast) return UNFINISHED
    return { fields, end: field.end + (bytes[field.end + 1] === NEWLINE ? 2 : 1) }
  }
}

/** A quote inside is taken as it is: `5" disk` is common, and means nothing else. */
function readPlain(bytes: Buffer, start: number, mark: number, isRead: boolean): Field {
  const end = endOfPlain(bytes, start, mark)
  if (!isRead) return { text: '', wasQuoted: false, end }
  return { ...decodeText(bytes, start, end), wasQuoted: false, end }
}

function endOfPlain(bytes: Buffer, start: number, mark: number): number {
  let end = start
  for (; end < bytes.length; end++) {
    const byte = bytes[end]
    if (byte === mark || byte === NEWLINE || byte === RETURN) break
  }
  return end
}

function readQuoted(
  bytes: Buffer,
  start: number,
  mark: number,
  isLast: boolean,
  isRead: boolean,
): Field | typeof UNFINISHED | typeof UNENDED {
  for (let at = start + 1; ;) {
    const quote = bytes.indexOf(QUOTE, at)
    if (quote === -1) return isLast ? UNENDED : UNFINISHED
    if (bytes[quote + 1] === QUOTE) {
      at = quote + 2
      continue
    }
    if (quote + 1 === bytes.length && !isLast) return UNFINISHED
    const end = endOfPlain(bytes, quote + 1, mark)
    if (!isRead) return { text: '', wasQuoted: true, end }
    const { text, problem } = decodeText(bytes, start + 1, quote)
    return {
      text: text.replaceAll('""', '"'),
      problem: end > quote + 1 ? 'there is text behind the closing quote of a value' : problem,
      wasQuoted: true,
      end,
    }
  }
}

function countLines(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === NEWLINE || (byte === RETURN && bytes[at + 1] !== NEWLINE)) count += 1
  }
  return count
}
