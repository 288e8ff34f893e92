/** Port to the process that reads workbooks and Parquet files: their rows become NDJSON, which is read as any other. */
import type { LoadFormat } from '../../contracts/load-formats.ts'
import type { FileProblem } from '../documents/index.ts'

/** Formats that cannot be read from the middle on. */
export type TableFormat = Extract<LoadFormat, 'xlsx' | 'parquet'>

export type TableFile = {
  readonly format: TableFormat
  readonly content: Uint8Array
  /** Left out: the first one. */
  readonly sheet?: string | undefined
  /** Only so many rows are wanted. */
  readonly rowsMax?: number | undefined
}

export type ReadTable = {
  /** Of a workbook, those that people see. */
  readonly sheets: readonly string[]
  readonly sheet: string | null
  readonly headers: readonly string[]
  /** Columns whose values are lists. */
  readonly lists: readonly string[]
  /** Where the header stands. */
  readonly line: number
  /** NDJSON: row n of the file is line n. */
  readonly rows: Uint8Array
  /** Rows that cannot be loaded: the first ones, each with its line. */
  readonly problems: readonly string[]
  readonly problemCount: number
}

export type ReadTableFile = (orgId: string, file: TableFile) => Promise<ReadTable | FileProblem>
