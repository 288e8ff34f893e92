/** The beginning of a file that was uploaded: its header, and the rows behind it. */
import type { Queries } from '../databases/index.ts'
import { LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import { fileFormatOf, type LoadRow } from './load-rows.ts'
import { readHeader, type Header } from './read-rows.ts'
import { readContent } from './staging.ts'

/** One row more than the longest: what does not end by then has no end. */
const BEGINNING_BYTES = 2 * LOAD_RECORD_BYTES

export type Beginning = {
  readonly header: Header
  /** Behind the header. */
  readonly content: Buffer
  readonly isAll: boolean
}

export async function readBeginning(queries: Queries, load: LoadRow): Promise<Beginning> {
  const bytes = (await readContent(queries, load.id, 0, BEGINNING_BYTES)).subarray(0, BEGINNING_BYTES)
  const isAll = bytes.length >= load.bytes
  const header = readHeader(fileFormatOf(load), bytes, isAll)
  return { header, content: bytes.subarray(header.consumed), isAll }
}
