/** Reads rows of NDJSON: an object a line, whose values are text, numbers, true, false or null. */
import { byteSize } from '../../contracts/byte-size.ts'
import { LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import { decodeText } from './decode-text.ts'
import type { RawRow, ReadPart, Reading } from './raw-row.ts'

const NEWLINE = 0x0a

const TOO_LONG = `the row is longer than ${byteSize(LOAD_RECORD_BYTES)}`

export function readNdjson(bytes: Buffer, { headers, line, isLast, rowsMax = Infinity }: Reading): ReadPart {
  const rows: RawRow[] = []
  let at = 0
  while (at < bytes.length && rows.length < rowsMax) {
    const newline = bytes.indexOf(NEWLINE, at)
    const end = newline === -1 ? bytes.length : newline
    if (newline === -1 && !isLast) {
      if (end - at <= LOAD_RECORD_BYTES) break
      const problem = `${TOO_LONG}; nothing behind it was checked`
      return { rows: [...rows, { line, problem }], consumed: end, line, isBroken: true }
    }
    const row = end - at > LOAD_RECORD_BYTES ? { problem: TOO_LONG } : readObject(bytes, at, end, headers)
    if (row) rows.push({ line, ...row })
    line += 1
    at = newline === -1 ? end : end + 1
  }
  return { rows, consumed: at, line, isBroken: false }
}

/** The names of the first object are those of the columns. */
export function namesIn(bytes: Buffer): { readonly names: string[] | undefined; readonly line: number } {
  for (let at = 0, line = 1; ; line++) {
    const newline = bytes.indexOf(NEWLINE, at)
    const text = bytes.toString('utf8', at, newline === -1 ? bytes.length : newline)
    if (newline === -1 || text.trim() !== '') {
      const value = parse(text)
      return { names: isObject(value) ? Object.keys(value) : undefined, line }
    }
    at = newline + 1
  }
}

function readObject(
  bytes: Buffer,
  start: number,
  end: number,
  headers: readonly string[],
): { cells: string[] } | { problem: string } | undefined {
  const { text, problem } = decodeText(bytes, start, end)
  if (problem !== undefined) return { problem }
  if (text.trim() === '') return undefined
  const value = parse(text)
  if (!isObject(value)) return { problem: 'the line is not a JSON object' }
  const unknown = Object.keys(value).find((name) => !headers.includes(name))
  if (unknown !== undefined) return { problem: 'the object has a name that the first one does not have' }
  const cells = headers.map((name) => (Object.hasOwn(value, name) ? cellOf(value[name]) : ''))
  if (cells.some((cell) => cell === undefined)) {
    return { problem: 'a value is a list or an object; only text, numbers, true, false and null are loaded' }
  }
  if (cells.some((cell) => cell!.includes('\0'))) {
    return { problem: 'a value contains the NUL character, which cannot be stored' }
  }
  return { cells: cells as string[] }
}

function cellOf(value: unknown): string | undefined {
  if (value === null) return ''
  // Lone surrogates can be written in JSON, and not in UTF-8.
  if (typeof value === 'string') return value.toWellFormed()
  return typeof value === 'boolean' ? String(value) : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text, asWritten)
  } catch {
    return undefined
  }
}

/** A number as its text: an id of twenty digits, or `1.10`, would be another one otherwise. */
const asWritten = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? context!.source : value

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
