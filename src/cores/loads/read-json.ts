/**
 * Reads rows of a JSON file: a list of objects, or objects one after the other. Each object is found by its braces, so that
 * reading goes on behind any of them and no more than one is held; what stands in it is read as in NDJSON.
 */
import { byteSize } from '../../contracts/byte-size.ts'
import { LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import type { RawRow, ReadPart, Reading } from './raw-row.ts'
import { readObject } from './read-ndjson.ts'

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE, BRACE, BRACE_END] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d]
const NEWLINE = 0x0a

const TOO_LONG = `the row is longer than ${byteSize(LOAD_RECORD_BYTES)}`
const NOT_A_LIST = 'the file is no list of JSON objects; nothing behind this was checked'

const NO_END = 'the file ends in the middle: it may have been cut'

/** The list ends by this delimiter, or by the end of the file. */
export const JSON_LIST = ']'

/** Where its first object begins, and whether it lies in a list. */
export function beginJson(bytes: Buffer): { readonly at: number; readonly isList: boolean } {
  const at = skipBlanks(bytes, 0)
  return bytes[at] === OPEN ? { at: at + 1, isList: true } : { at, isList: false }
}

export function readJson(bytes: Buffer, reading: Reading): ReadPart {
  const { isLast, delimiter, rowsMax = Infinity } = reading
  const isList = delimiter === JSON_LIST
  let { line } = reading
  const rows: RawRow[] = []
  let at = 0
  const stop = (problem: string): ReadPart => ({
    rows: [...rows, { line, problem }],
    consumed: bytes.length,
    line,
    isBroken: true,
  })
  while (rows.length < rowsMax) {
    const start = skipBlanks(bytes, at)
    if (start === bytes.length) {
      if (isLast && isList) return stop(NO_END)
      return { rows, consumed: start, line: line + countLines(bytes, at, start), isBroken: false }
    }
    line += countLines(bytes, at, start)
    if (isList && bytes[start] === CLOSE) {
      const isAll = skipBlanks(bytes, start + 1) === bytes.length
      // Known once all that follows is there.
      const mayEnd = isAll && (isLast || bytes.length - start <= LOAD_RECORD_BYTES)
      return mayEnd
        ? { rows, consumed: isLast ? bytes.length : start, line, isBroken: false }
        : stop('there is something behind the end of the list')
    }
    if (bytes[start] !== BRACE) return stop(NOT_A_LIST)
    const end = endOfObject(bytes, start)
    const next = end === undefined ? bytes.length : skipBlanks(bytes, end)
    // Of a list it is known to be whole when what follows it is.
    if (end === undefined || (isList && next === bytes.length)) {
      if (bytes.length - start > LOAD_RECORD_BYTES) return stop(`${TOO_LONG}; nothing behind it was checked`)
      if (!isLast) return { rows, consumed: start, line, isBroken: false }
      return stop(NO_END)
    }
    const row =
      end - start > LOAD_RECORD_BYTES ? { problem: TOO_LONG } : readObject(bytes, start, end, reading)
    if (row) rows.push({ line, ...row })
    const isSeparated = isList && bytes[next] === COMMA
    if (isList && !isSeparated && bytes[next] !== CLOSE) return stop(NOT_A_LIST)
    line += countLines(bytes, start, isSeparated ? next : end)
    at = isSeparated ? next + 1 : end
  }
  return { rows, consumed: at, line, isBroken: false }
}

/** The text of each whole object in the beginning of a file. */
export function* objectsIn(bytes: Buffer): Generator<{ readonly text: string; readonly line: number }> {
  const { at: first } = beginJson(bytes)
  let line = 1 + countLines(bytes, 0, first)
  for (let at = first; ;) {
    const start = skipBlanks(bytes, at)
    line += countLines(bytes, at, start)
    const end = bytes[start] === BRACE ? endOfObject(bytes, start) : undefined
    if (end === undefined) return
    yield { text: bytes.toString('utf8', start, end), line }
    line += countLines(bytes, start, end)
    at = skipBlanks(bytes, end)
    line += countLines(bytes, end, at)
    if (bytes[at] === COMMA) at += 1
  }
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && (bytes[at] === 0x20 || (bytes[at]! >= 0x09 && bytes[at]! <= 0x0d))) at += 1
  return at
}

/** Behind its last brace. Braces in texts are none. */
function endOfObject(bytes: Buffer, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = endOfText(bytes, at)
      if (at === -1) return undefined
    } else if (byte === BRACE) depth += 1
    else if (byte === BRACE_END) {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

function endOfText(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return -1
}

/** Never beyond the end: a file of one line would be read to its end for each of its objects. */
function countLines(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if (bytes[at] === NEWLINE) count += 1
  return count
}
