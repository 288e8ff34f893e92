/** What the pages of a Parquet file say of themselves, looked at before any is read: memory is taken for as many values as one says. */
import { parquetSchema, type FileMetaData, type PageHeader } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { getMaxRepetitionLevel, getTreePath } from 'hyparquet/src/schema.js'
import { LOAD_TABLE_TEXT_BYTES } from '../../contracts/limits.ts'
import { UnreadableFile } from './blocks.ts'
import { tooMuchText } from './table-rows.ts'

/** Of the shortest row, `{"":null}` and its end, and of the shortest value in a list: more of them are more text than may be. */
const [ROW_BYTES, VALUE_BYTES] = [10, 2]

const broken = () => new UnreadableFile('It is broken, or no Parquet file.')

export function requirePages(metadata: FileMetaData, buffer: ArrayBuffer): void {
  const tree = parquetSchema(metadata)
  let [rows, values] = [0, 0]
  for (const { columns, num_rows: count } of metadata.row_groups) {
    const groupRows = Number(count)
    if (!isCount(groupRows)) throw broken()
    rows += groupRows
    if (rows * ROW_BYTES > LOAD_TABLE_TEXT_BYTES) throw tooMuchText()
    for (const { meta_data: column } of columns) {
      if (!column) throw broken()
      const isFlat = getMaxRepetitionLevel(getTreePath(tree, column.path_in_schema)) === 0
      const valuesMax = isFlat ? groupRows : Number(column.num_values)
      if (!isCount(valuesMax)) throw broken()
      values += valuesMax
      if (values * VALUE_BYTES > LOAD_TABLE_TEXT_BYTES) throw tooMuchText()
      const start = Number(column.dictionary_page_offset || column.data_page_offset)
      const length = Number(column.total_compressed_size)
      if (!isCount(start) || !isCount(length) || start + length > buffer.byteLength) throw broken()
      requireValues(new DataView(buffer, start, length), valuesMax, isFlat)
    }
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** As far as they are read: of plain values until there is one for each row; and a last byte is no page. */
function requireValues(view: DataView, valuesMax: number, isFlat: boolean): void {
  const reader = { view, offset: 0 }
  const enough = isFlat ? valuesMax : Infinity
  for (let values = 0; values < enough && reader.offset < view.byteLength - 1;) {
    const page = parquetHeader(reader)
    const { num_values: count, num_nulls: nulls = 0 } = saidBy(page) ?? {}
    if (!isCount(count) || !isCount(nulls) || nulls > count || !isCount(page.compressed_page_size))
      throw broken()
    if (page.type === 'DICTIONARY_PAGE') {
      // The shortest value has a bit.
      if (count > 8 * page.uncompressed_page_size) throw broken()
    } else {
      values += count
      if (values > valuesMax) throw broken()
    }
    reader.offset += page.compressed_page_size
  }
}

/** As it is read, by its type: it may hold the others, too. */
function saidBy(page: PageHeader): { num_values?: number; num_nulls?: number } | undefined {
  if (page.type === 'DICTIONARY_PAGE') return page.dictionary_page_header
  return page.type === 'DATA_PAGE' ? page.data_page_header : page.data_page_header_v2
}
