/** Workbooks and Parquet files, made here. */
import { parquetWriteBuffer } from 'hyparquet-writer'
import { makeZip } from './document-files.ts'

export type Value = string | number | boolean | null | { readonly xml: string }
type Rows = readonly (readonly Value[])[]
type SheetOptions = {
  readonly startsIn1904?: boolean
  /** By name; those of `hidden` are not seen. */
  readonly hidden?: readonly string[]
  readonly styles?: string
  readonly strings?: string
}

/** Styles by their number: plain, a day, a time, both, an own format of days. */
const STYLES = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy;@"/></numFmts>
  <cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
  <cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="20"/><xf numFmtId="22"/><xf numFmtId="164"/></cellXfs></styleSheet>`

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function cellXml(value: Value, place: string): string {
  if (value === null) return ''
  if (typeof value === 'object') return value.xml.replace('<c', `<c r="${place}"`)
  if (typeof value === 'number') return `<c r="${place}"><v>${value}</v></c>`
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${Number(value)}</v></c>`
  return `<c r="${place}" t="inlineStr"><is><t>${escaped(value)}</t></is></c>`
}

const sheetXml = (rows: Rows): string =>
  `<worksheet><sheetData>${rows
    .map((values, at) => {
      const cells = values.map((value, n) => cellXml(value, `${String.fromCharCode(65 + n)}${at + 1}`))
      return cells.some((cell) => cell !== '') ? `<row r="${at + 1}">${cells.join('')}</row>` : ''
    })
    .join('')}</sheetData></worksheet>`

/** Sheets by their names: rows, or the part as it is. */
export function makeXlsx(
  sheets: Readonly<Record<string, Rows | string>>,
  { startsIn1904 = false, hidden = [], styles = STYLES, strings }: SheetOptions = {},
): Buffer {
  const names = Object.keys(sheets)
  const parts = Object.values(sheets).map((rows, at) => [
    `xl/worksheets/sheet${at + 1}.xml`,
    typeof rows === 'string' ? rows : sheetXml(rows),
  ])
  return makeZip({
    'xl/workbook.xml': `<workbook><workbookPr date1904="${startsIn1904}"/><sheets>${names
      .map(
        (name, at) =>
          `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"${hidden.includes(name) ? ' state="hidden"' : ''}/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names
      .map(
        (_, at) =>
          `<Relationship Id="rId${at + 1}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet${at + 1}.xml"/>`,
      )
      .join('')}</Relationships>`,
    'xl/styles.xml': styles,
    ...(strings === undefined ? {} : { 'xl/sharedStrings.xml': strings }),
    ...Object.fromEntries(parts),
  })
}

type Columns = Parameters<typeof parquetWriteBuffer>[0]['columnData']

export const makeParquet = (columnData: Columns): Buffer => Buffer.from(parquetWriteBuffer({ columnData }))
