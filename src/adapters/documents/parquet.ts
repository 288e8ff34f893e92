/** The rows of a Parquet file. What lies in groups has their names before its own; what is deeper is JSON. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import {
  parquetMetadata,
  parquetReadObjects,
  parquetSchema,
  type Compressors,
  type FileMetaData,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet'
import type { ReadTable, TableFile } from '../../cores/loads/read-table.ts'
import { UnreadableFile } from './blocks.ts'
import { requirePages } from './parquet-pages.ts'
import { createTableRows, numberText } from './table-rows.ts'

const broken = () => new UnreadableFile('It is broken, or no Parquet file.')

/** What a page says of its own size is not believed beyond this. */
const PAGE_MAX_BYTES = 256 * 1024 * 1024

const limited = (outputLength: number) => ({
  maxOutputLength: Math.min(Math.max(1, outputLength), PAGE_MAX_BYTES),
})

const COMPRESSORS: Compressors = {
  GZIP: (input, length) => gunzipSync(input, limited(length)),
  BROTLI: (input, length) => brotliDecompressSync(input, limited(length)),
  ZSTD: (input, length) => zstdDecompressSync(input, limited(length)),
}
const READ_CODECS = new Set(['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)])

export async function readParquet({ content, rowsMax = Infinity }: TableFile): Promise<ReadTable> {
  const buffer = content.buffer.slice(content.byteOffset, content.byteOffset + content.length) as ArrayBuffer
  const metadata = metadataIn(buffer)
  requireReadable(metadata)
  requirePages(metadata, buffer)
  const file = {
    byteLength: buffer.byteLength,
    slice: (start: number, end?: number) => buffer.slice(start, end),
  }
  const tree = parquetSchema(metadata)
  const columns = columnsOf(tree)
  const decimals = new Set(decimalsIn(tree))
  const schema = metadata.schema.map((element) => asRead(element, decimals.has(element)))
  const rows = createTableRows()
  let line = 1
  for (let [rowStart, at] = [0, 0]; at < metadata.row_groups.length && line <= rowsMax; at++) {
    const rowEnd = rowStart + Number(metadata.row_groups[at]!.num_rows)
    const read = {
      file,
      metadata: { ...metadata, schema },
      compressors: COMPRESSORS,
      parsers: PARSERS,
      utf8: false,
      rowStart,
    }
    for (const row of await parquetReadObjects({ ...read, rowEnd: Math.min(rowEnd, rowsMax) })) {
      line += 1
      rows.add(line, Object.fromEntries(columns.map((column) => [column.name, valueIn(row, column)])))
    }
    rowStart = rowEnd
  }
  return {
    sheets: [],
    sheet: null,
    headers: columns.map(({ name }) => name),
    lists: columns.flatMap(({ name, kind }) => (kind === 'list' ? [name] : [])),
    line: 1,
    ...rows.end(),
  }
}

function metadataIn(buffer: ArrayBuffer): FileMetaData {
  const mark = Buffer.from(buffer).toString('latin1', Math.max(0, buffer.byteLength - 4))
  if (mark === 'PARE') throw new UnreadableFile('It is encrypted.')
  if (mark !== 'PAR1' || buffer.byteLength < 12) throw broken()
  return parquetMetadata(buffer)
}

function requireReadable({ row_groups: groups }: FileMetaData): void {
  const all = groups.flatMap(({ columns }) => columns)
  if (all.some(({ crypto_metadata: crypto }) => crypto !== undefined))
    throw new UnreadableFile('It is encrypted.')
  if (all.some(({ meta_data: data }) => data && !READ_CODECS.has(data.codec))) {
    throw new UnreadableFile(
      'It is compressed with LZ4 or LZO. Save it with Snappy, Gzip, Brotli or Zstandard.',
    )
  }
}

/** Times to the last digit: a Date has milliseconds. */
const PARSERS = {
  timestampFromMicroseconds: (micros: bigint) => timeText(micros * 1000n),
  timestampFromNanoseconds: (nanos: bigint) => timeText(nanos),
}

const MS_NANOS = 1_000_000n

function timeText(nanos: bigint): string | null {
  const rest = ((nanos % MS_NANOS) + MS_NANOS) % MS_NANOS
  const date = new Date(Number((nanos - rest) / MS_NANOS))
  if (Number.isNaN(date.getTime())) return null
  const digits = String(rest).padStart(6, '0').replace(/0{3}$/, '')
  return rest === 0n ? date.toISOString() : date.toISOString().replace('Z', `${digits}Z`)
}

const isDecimal = ({ element }: SchemaTree): boolean =>
  element.logical_type?.type === 'DECIMAL' || element.converted_type === 'DECIMAL'

/** The library makes doubles of them, and of those of newer files nothing. A variant it reads by itself. */
function decimalsIn(node: SchemaTree): SchemaElement[] {
  if (isVariant(node)) return []
  const key = isMap(node) ? node.children[0]?.children[0] : undefined
  if (key && isDecimal(key))
    throw new UnreadableFile('It has decimals as keys, which cannot be read exactly.')
  return node.children.length === 0 && isDecimal(node) ? [node.element] : node.children.flatMap(decimalsIn)
}

/** Decimals as they are stored; lists and maps of newer files as those of older ones, which alone it knows. */
function asRead(element: SchemaElement, isScaledHere: boolean): SchemaElement {
  const { converted_type: converted, logical_type: logical, ...stored } = element
  if (isScaledHere) return stored
  const isNewer = converted === undefined && (logical?.type === 'LIST' || logical?.type === 'MAP')
  return isNewer ? { ...element, converted_type: logical.type } : element
}

type Column = {
  readonly name: string
  readonly path: readonly string[]
  readonly kind: 'value' | 'list' | 'json'
  /** Of lists that of a value. */
  readonly node: SchemaTree
}

const columnsOf = ({ children }: SchemaTree): Column[] => children.flatMap(columnsIn)

function columnsIn(node: SchemaTree): Column[] {
  const { element, children, path } = node
  const isRepeated = element.repetition_type === 'REPEATED'
  const isAnnotated = element.converted_type !== undefined || element.logical_type !== undefined
  if (children.length > 0 && !isRepeated && !isAnnotated) return children.flatMap(columnsIn)
  const leaf = isRepeated ? node : elementOf(node)
  const kind =
    leaf === undefined || (leaf === node && children.length > 0)
      ? 'json'
      : isRepeated || leaf !== node
        ? 'list'
        : 'value'
  return [{ name: path.join('.'), path, kind, node: leaf ?? node }]
}

/** Of a list of plain values these; of a plain value itself; of anything else nothing. */
function elementOf(node: SchemaTree): SchemaTree | undefined {
  if (node.children.length === 0) return node
  const inner = isList(node) ? innerOf(node) : undefined
  return inner?.children.length === 0 ? inner : undefined
}

const isList = ({ element }: SchemaTree): boolean =>
  element.converted_type === 'LIST' || element.logical_type?.type === 'LIST'
const isMap = ({ element, children }: SchemaTree): boolean =>
  (element.converted_type === 'MAP' || element.logical_type?.type === 'MAP') &&
  children[0]?.children.length === 2
const isVariant = ({ element }: SchemaTree): boolean => element.logical_type?.type === 'VARIANT'
const isDate = ({ element }: SchemaTree): boolean =>
  element.converted_type === 'DATE' || element.logical_type?.type === 'DATE'

const innerOf = ({ children: [middle] }: SchemaTree): SchemaTree | undefined =>
  middle?.children.length === 1 ? middle.children[0] : middle

function valueIn(row: Readonly<Record<string, unknown>>, { path, kind, node }: Column): unknown {
  let value: unknown = row
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name]
  if (value === null || value === undefined) return null
  if (kind === 'json')
    return JSON.stringify(nested(value, node), (_key, one: unknown) => (isPlain(one) ? plain(one) : one))
  if (kind === 'list') return (Array.isArray(value) ? value : [value]).map((one: unknown) => plain(one, node))
  return plain(value, node)
}

const isPlain = (value: unknown): boolean => typeof value === 'bigint' || value instanceof Uint8Array

/** With the values in it as they are elsewhere. */
function nested(value: unknown, node: SchemaTree): unknown {
  if (value === null || value === undefined) return null
  if (isVariant(node)) return value
  const inner = isList(node) ? innerOf(node) : undefined
  if (Array.isArray(value)) return value.map((one: unknown) => nested(one, inner ?? node))
  if (node.children.length === 0) return nestedValue(value, node)
  const entries = Object.entries(value)
  const ofMap = isMap(node) ? node.children[0]?.children[1] : undefined
  const childOf = (name: string) => node.children.find(({ element }) => element.name === name)
  return Object.fromEntries(
    entries.map(([name, one]) => {
      const child = ofMap ?? childOf(name)
      return [name, child ? nested(one, child) : one]
    }),
  )
}

/** Numbers and what is JSON itself stay what they are. */
function nestedValue(value: unknown, node: SchemaTree): unknown {
  const isOther = typeof value === 'object' && !(value instanceof Date) && !(value instanceof Uint8Array)
  if (isOther) return value
  const text = plain(value, node)
  return typeof value === 'number' && !isDecimal(node) && !isDate(node) && text !== null ? Number(text) : text
}

const DAY_MS = 86_400_000

/** Numbers as their text, which is how they are read. */
function plain(value: unknown, node?: SchemaTree): string | boolean | null {
  if (value === null || value === undefined) return null
  if (node && isDecimal(node)) return decimalText(value, node.element)
  if (typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'bigint') return String(value)
  const isDay = node !== undefined && isDate(node)
  if (typeof value === 'number' && !isDay) {
    if (!Number.isFinite(value)) return null
    return numberText(node?.element.type === 'FLOAT' ? shortest(value) : value)
  }
  if (value instanceof Date || typeof value === 'number') {
    const date = typeof value === 'number' ? new Date(value * DAY_MS) : value
    if (Number.isNaN(date.getTime())) return null
    return isDay ? date.toISOString().slice(0, 10) : date.toISOString()
  }
  return value instanceof Uint8Array ? bytesText(value) : JSON.stringify(value)
}

/** Of as few digits as tell it from its neighbours: 0.1 as a float is 0.10000000149011612 as a double. */
function shortest(float: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const value = Number(float.toPrecision(digits))
    if (Math.fround(value) === float) return value
  }
  return Number(float.toPrecision(9))
}

/** More than any program writes: beyond it a file is broken, and would cost as much as it likes. */
const [SCALE_MAX, DECIMAL_MAX_BYTES] = [100, 64]

/** Digit by digit: a double would be another number. */
function decimalText(value: unknown, { logical_type: type, scale: given }: SchemaElement): string {
  const scale = (type?.type === 'DECIMAL' ? type.scale : given) ?? 0
  const number = value instanceof Uint8Array ? signedOf(value) : value
  const isWhole = typeof number === 'bigint' || Number.isInteger(number)
  if (!isWhole || !Number.isInteger(scale) || scale < 0 || scale > SCALE_MAX) throw broken()
  const text = String(number)
  const digits = text.replace('-', '').padStart(scale + 1, '0')
  const [whole, fraction] = [digits.slice(0, digits.length - scale), digits.slice(digits.length - scale)]
  return `${text.startsWith('-') ? '-' : ''}${whole}${scale === 0 ? '' : `.${fraction}`}`
}

function signedOf(bytes: Uint8Array): bigint {
  if (bytes.length > DECIMAL_MAX_BYTES) throw broken()
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x0${Buffer.from(bytes).toString('hex')}`))
}

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Some programs write texts without saying that they are. */
function bytesText(bytes: Uint8Array): string {
  try {
    return STRICT.decode(bytes)
  } catch {
    return Buffer.from(bytes).toString('base64')
  }
}
