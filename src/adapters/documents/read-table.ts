/** A workbook or a Parquet file as rows: what the process does. */
import type { FileProblem } from '../../cores/documents/read-document.ts'
import type { ReadTable, TableFile, TableFormat } from '../../cores/loads/read-table.ts'
import { UnreadableFile } from './blocks.ts'
import { readXlsx } from './xlsx.ts'

const READERS: Record<TableFormat, (file: TableFile) => ReadTable | Promise<ReadTable>> = {
  xlsx: readXlsx,
  parquet: async (file) => (await import('./parquet.ts')).readParquet(file),
}

export async function readTable(file: TableFile): Promise<ReadTable | FileProblem> {
  try {
    return await READERS[file.format](file)
  } catch (error) {
    if (error instanceof UnreadableFile) return { problem: error.message }
    throw error
  }
}
