/**
 * Reads rows of NDJSON: an object a line, whose values are text, numbers, true, false, null, lists of these, or objects, whose
 * names are put together: `{"a": {"b": 1}}` is a column `a.b`. Lists of objects, or of lists, are kept as JSON.
 */
import { byteSize } from '../../contracts/byte-size.ts'
import { LOAD_COLUMNS_MAX, LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import { writtenOut } from '../../contracts/written-out.ts'
import { decodeText } from './decode-text.ts'
import type { RawRow, ReadPart, Reading } from './raw-row.ts'

const NEWLINE = 0x0a

const TOO_LONG = `the row is longer than ${byteSize(LOAD_RECORD_BYTES)}`

export function readNdjson(bytes: Buffer, reading: Reading): ReadPart {
  const { isLast, rowsMax = Infinity } = reading
  let { line } = reading
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
    const row = end - at > LOAD_RECORD_BYTES ? { problem: TOO_LONG } : readObject(bytes, at, end, reading)
    if (row) rows.push({ line, ...row })
    line += 1
    at = newline === -1 ? end : end + 1
  }
  return { rows, consumed: at, line, isBroken: false }
}

type Names = {
  readonly names: string[] | undefined
  /** Of the first object. */
  readonly line: number
  readonly lists: string[]
  readonly jsons: string[]
}

/** Each in a line of its own. */
export function* linesIn(bytes: Buffer, isLast: boolean): Generator<{ text: string; line: number }> {
  let isFirst = true
  for (let at = 0, line = 1; at < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, at)
    // A row that was cut; the first is read all the same, to tell what is wrong with it.
    if (newline === -1 && !isLast && !isFirst) return
    const text = bytes.toString('utf8', at, newline === -1 ? bytes.length : newline)
    at = newline === -1 ? bytes.length : newline + 1
    if (text.trim() === '') continue
    yield { text, line }
    isFirst = false
  }
}

/** The names of all objects in the beginning of a file are those of the columns: what is optional may be missing in the first. */
export function namesIn(objects: Iterable<{ readonly text: string; readonly line: number }>): Names {
  const names = new Set<string>()
  const lists = new Set<string>()
  const jsons = new Set<string>()
  let first = 0
  for (const { text, line } of objects) {
    // Numbers as they are written take several times as long, and say nothing of names.
    const value = parse(text)
    if (first === 0) {
      first = line
      if (!isObject(value)) return { names: undefined, line, lists: [], jsons: [] }
    }
    const flat = isObject(value) ? flatten(value) : undefined
    // What is wrong with later rows is told when they are read.
    for (const [name, one] of flat ?? []) {
      names.add(name)
      if (!Array.isArray(one)) continue
      lists.add(name)
      if (one.some((part) => typeof part === 'object' && part !== null)) jsons.add(name)
    }
    if (names.size > LOAD_COLUMNS_MAX) break
  }
  return {
    names: first === 0 ? undefined : [...names],
    line: Math.max(first, 1),
    lists: [...lists].filter((name) => !jsons.has(name)),
    jsons: [...jsons],
  }
}

/** Objects in objects in objects … */
const DEPTH_MAX = 8

/** Undefined: two values have one name, or they lie too deep. */
function flatten(
  value: Readonly<Record<string, unknown>>,
  prefix = '',
  depth = 1,
  flat = new Map<string, unknown>(),
): Map<string, unknown> | undefined {
  for (const [name, one] of Object.entries(value)) {
    if (isObject(one)) {
      if (depth === DEPTH_MAX || !flatten(one, `${prefix}${name}.`, depth + 1, flat)) return undefined
      continue
    }
    if (flat.has(prefix + name)) return undefined
    flat.set(prefix + name, one)
  }
  return flat
}

export function readObject(
  bytes: Buffer,
  start: number,
  end: number,
  { headers, lists = [], jsons = [] }: Reading,
): { cells: string[] } | { problem: string } | undefined {
  const { text, problem } = decodeText(bytes, start, end)
  if (problem !== undefined) return { problem }
  if (text.trim() === '') return undefined
  const value = parse(text, asWritten)
  if (!isObject(value)) return { problem: 'the line is not a JSON object' }
  const flat = flatten(value)
  if (!flat) return { problem: 'two values have the same name, or objects lie too deep in one another' }
  const known = new Set(headers)
  for (const name of flat.keys()) {
    if (!known.has(name)) return { problem: 'the object has a name that none of the first rows has' }
  }
  const inJson = jsons.length === 0 ? undefined : flatten(parse(text, asNumber) as Record<string, unknown>)
  const cells = headers.map((name) => {
    const one = flat.get(name) ?? null
    if (jsons.includes(name)) return one === null ? '' : jsonCellOf(inJson?.get(name))
    return lists.includes(name) ? listCellOf(one) : cellOf(one)
  })
  if (cells.some((cell) => cell === undefined)) {
    return { problem: OTHER_LIST }
  }
  if ([...flat.values()].flat().some((one) => typeof one === 'string' && one.includes('\0'))) {
    return { problem: 'a value contains the NUL character, which cannot be stored' }
  }
  return { cells: cells as string[] }
}

const OTHER_LIST =
  'a value is a list where the first rows have none, a list of lists or objects where theirs are not, or one that cannot be stored'

/** Lists in lists, objects in objects …: far fewer than a database takes. */
const JSON_DEPTH_MAX = 64

/** Undefined: it lies too deep, or a text or a number in it cannot be stored. */
function jsonCellOf(value: unknown, depth = 1): string | undefined {
  if (depth > JSON_DEPTH_MAX) return undefined
  if (value instanceof WrittenNumber) return STORABLE_NUMBER.test(value.text) ? value.text : undefined
  if (typeof value === 'string') return jsonText(value)
  if (Array.isArray(value))
    return joined(
      value.map((one) => jsonCellOf(one, depth + 1)),
      '[]',
    )
  if (!isObject(value)) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([name, one]) =>
    joined([jsonText(name), jsonCellOf(one, depth + 1)], '', ':'),
  )
  return joined(pairs, '{}')
}

const joined = (parts: readonly (string | undefined)[], around: string, between = ','): string | undefined =>
  parts.includes(undefined) ? undefined : `${around[0] ?? ''}${parts.join(between)}${around[1] ?? ''}`

const jsonText = (text: string): string | undefined =>
  text.includes('\0') ? undefined : JSON.stringify(text.toWellFormed())

/** One that is not a text there. */
class WrittenNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
const STORABLE_NUMBER = /^-?\d{1,1000}(?:\.\d{1,1000})?$/

/** As JSON; a single value is a list of one. */
function listCellOf(value: unknown): string | undefined {
  if (value === null) return ''
  const all = Array.isArray(value) ? value.map((one) => (one === null ? null : cellOf(one))) : [cellOf(value)]
  return all.includes(undefined) ? undefined : JSON.stringify(all)
}

function cellOf(value: unknown): string | undefined {
  if (value === null) return ''
  // Lone surrogates can be written in JSON, and not in UTF-8.
  if (typeof value === 'string') return value.toWellFormed()
  return typeof value === 'boolean' ? String(value) : undefined
}

function parse(text: string, reviver?: typeof asWritten): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return undefined
  }
}

/** A number as its text, without an exponent: an id of twenty digits, or `1.10`, would be another one otherwise. */
const asWritten = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? writtenOut(context!.source!) : value

const asNumber: typeof asWritten = (name, value, context) =>
  typeof value === 'number' ? new WrittenNumber(String(asWritten(name, value, context))) : value

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WrittenNumber)
