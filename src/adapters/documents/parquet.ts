/** The rows of a Parquet file. What lies in groups has their names before its own; what is deeper is JSON. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import {
  parquetMetadata,
  parquetReadObjects,
  parquetSchema,
  type Compressors,
  type FileMetaData,
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
  const columns = columnsOf(parquetSchema(metadata))
  const rows = createTableRows()
  let line = 1
  for (let [rowStart, at] = [0, 0]; at < metadata.row_groups.length && line <= rowsMax; at++) {
    const rowEnd = rowStart + Number(metadata.row_groups[at]!.num_rows)
    const read = { file, metadata, compressors: COMPRESSORS, utf8: false, rowStart }
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

type Column = {
  readonly name: string
  readonly path: readonly string[]
  readonly kind: 'value' | 'list' | 'json'
  readonly isDate: boolean
  /** Of decimals: how many digits stand behind the point. */
  readonly scale?: number | undefined
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
  return [{ name: path.join('.'), path, kind, isDate: isDate(leaf ?? node), scale: scaleOf(leaf ?? node) }]
}

/** Of a list of plain values these; of a plain value itself; of anything else nothing. */
function elementOf(node: SchemaTree): SchemaTree | undefined {
  const { element, children } = node
  if (children.length === 0) return node
  const isList = element.converted_type === 'LIST' || element.logical_type?.type === 'LIST'
  const [middle] = children
  const inner = middle?.children.length === 1 ? middle.children[0] : middle
  return isList && inner?.children.length === 0 ? inner : undefined
}

const isDate = ({ element }: SchemaTree): boolean =>
  element.converted_type === 'DATE' || element.logical_type?.type === 'DATE'

const scaleOf = ({ element }: SchemaTree): number | undefined =>
  element.logical_type?.type === 'DECIMAL'
    ? element.logical_type.scale
    : element.converted_type === 'DECIMAL'
      ? (element.scale ?? 0)
      : undefined

function valueIn(row: Readonly<Record<string, unknown>>, column: Column): unknown {
  let value: unknown = row
  for (const name of column.path) value = (value as Record<string, unknown> | null | undefined)?.[name]
  if (value === null || value === undefined) return null
  if (column.kind === 'json')
    return JSON.stringify(value, (_key, one: unknown) => (isPlain(one) ? plain(one) : one))
  if (column.kind === 'list')
    return (Array.isArray(value) ? value : [value]).map((one: unknown) => plain(one, column))
  return plain(value, column)
}

const isPlain = (value: unknown): boolean => typeof value === 'bigint' || value instanceof Uint8Array

/** Numbers as their text, which is how they are read. */
function plain(
  value: unknown,
  { isDate: isDay = false, scale }: Partial<Column> = {},
): string | boolean | null {
  if (typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return null
    return scale !== undefined && scale >= 0 && scale <= 20 ? value.toFixed(scale) : numberText(value)
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) return null
    return isDay ? value.toISOString().slice(0, 10) : value.toISOString()
  }
  if (value instanceof Uint8Array) return bytesText(value)
  return value === null || value === undefined ? null : JSON.stringify(value)
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
