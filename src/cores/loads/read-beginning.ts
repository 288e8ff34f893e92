/** The beginning of a file that was uploaded: its header, and the rows behind it. */
import { createHash } from 'node:crypto'
import type { Queries } from '../databases/index.ts'
import { LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { LoadDeps } from './load-deps.ts'
import { fileFormatOf, type LoadRow } from './load-rows.ts'
import { headerOf, isTable, readHeader, type Header } from './read-rows.ts'
import { readContent, readWhole } from './staging.ts'

/** One row more than the longest: what does not end by then has no end. */
const BEGINNING_BYTES = 2 * LOAD_RECORD_BYTES
/** Enough to tell texts from words. */
export const ROWS_CONSIDERED = 200

export type Beginning = {
  readonly header: Header
  /** Behind the header. */
  readonly content: Buffer
  readonly isAll: boolean
}

/** Of a workbook or a Parquet file all of it. */
export async function readFirstBytes(queries: Queries, load: LoadRow): Promise<Buffer> {
  return isTable(fileFormatOf(load))
    ? readWhole(queries, load.id, 0, load.bytes)
    : (await readContent(queries, load.id, 0, BEGINNING_BYTES)).subarray(0, BEGINNING_BYTES)
}

/** Whoever has the login may let a statement sleep: one turn of the few that everybody shares does not wait for it. */
const READ_MS = 10_000

type Asking = Pick<LoadDeps, 'tablePreviews'> & {
  readonly principal: Pick<Principal, 'signal'>
  readonly userId: string
}

/** A whole file is held meanwhile: only some at a time. What reads in the database ends by the signal. */
export async function inTurn<T>(
  { tablePreviews, principal: { signal }, userId }: Asking,
  load: Pick<LoadRow, 'orgId' | 'format'>,
  work: (signal: AbortSignal | undefined) => Promise<T>,
  readMs = READ_MS,
): Promise<T> {
  if (!isTable(fileFormatOf(load))) return work(signal)
  const start = () => {
    const late = AbortSignal.timeout(readMs)
    return work(signal ? AbortSignal.any([signal, late]) : late)
  }
  return tablePreviews.take([load.orgId, userId], start, { signal })
}

type Chosen = { readonly sheet?: string | undefined; readonly delimiter?: string | undefined }

/** Not while the database is held: the process that reads workbooks may be busy with others. */
export async function readBeginning(
  { readTable }: Pick<LoadDeps, 'readTable'>,
  load: LoadRow,
  bytes: Buffer,
  { sheet, delimiter }: Chosen,
): Promise<Beginning> {
  const format = fileFormatOf(load)
  if (!isTable(format)) {
    const isAll = bytes.length >= load.bytes
    const header = readHeader(format, bytes, isAll, delimiter)
    return { header, content: bytes.subarray(header.consumed), isAll }
  }
  const read = await readTable(load.orgId, { format, content: bytes, sheet, rowsMax: ROWS_CONSIDERED })
  if ('problem' in read) {
    return {
      header: { ...headerOf([], [], 1), problems: [read.problem] },
      content: Buffer.alloc(0),
      isAll: true,
    }
  }
  const header = headerOf(read.headers, read.lists, read.line)
  return {
    header: { ...header, sheets: read.sheets, sheet: read.sheet ?? undefined },
    content: Buffer.from(read.rows),
    isAll: true,
  }
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
