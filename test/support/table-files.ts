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

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]

/** Thrift's compact protocol: fields by their number, whole numbers of 32 bits unless they are said to be of 64. */
type Field = number | { readonly i64: number } | string | readonly Field[] | Fields
type Fields = { readonly [number: `${number}`]: Field }
const isList = (field: Field): field is readonly Field[] => Array.isArray(field)

function kindOf(field: Field): number {
  if (typeof field === 'number') return 5
  if (typeof field === 'string') return 8
  if (isList(field)) return 9
  return 'i64' in field ? 6 : 12
}

function bytesOf(field: Field): number[] {
  if (typeof field === 'number') return varint(2 * field)
  if (typeof field === 'string') return [...varint(field.length), ...Buffer.from(field, 'latin1')]
  if (isList(field)) return [16 * field.length + kindOf(field[0]!), ...field.flatMap(bytesOf)]
  if ('i64' in field) return varint(2 * field.i64)
  let last = 0
  const fields = Object.entries(field).flatMap(([number, value]) => {
    const head = 16 * (Number(number) - last) + kindOf(value)
    last = Number(number)
    return [head, ...bytesOf(value)]
  })
  return [...fields, 0]
}

/** One page of one optional column, or of one of lists, that says how many values it has; the whole is a hundred bytes long. */
export function makeParquetPage(values: number, { rows, isList }: { rows: number; isList: boolean }): Buffer {
  const run = (value: number) => [...varint(2 * values), value]
  const levels = Buffer.from(run(1))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(levels.length)
  const level = Buffer.concat([length, levels])
  const body = Buffer.concat([...(isList ? [level] : []), level, Buffer.from([1, ...run(0)])])
  const header = bytesOf({
    1: 0,
    2: body.length,
    3: body.length,
    5: { 1: values, 2: 8, 3: 3, 4: 3 },
  })
  const bytes = { i64: header.length + body.length }
  const column = {
    1: 1,
    2: [8],
    3: ['a'],
    4: 0,
    5: { i64: isList ? values : rows },
    6: bytes,
    7: bytes,
    9: { i64: 4 },
  }
  const footer = bytesOf({
    1: 1,
    2: [
      { 4: 'r', 5: 1 },
      { 1: 1, 3: isList ? 2 : 1, 4: 'a' },
    ],
    3: { i64: rows },
    4: [{ 1: [{ 2: { i64: 4 }, 3: column }], 2: bytes, 3: { i64: rows } }],
  })
  const footerLength = Buffer.alloc(4)
  footerLength.writeUInt32LE(footer.length)
  return Buffer.concat([
    Buffer.from('PAR1'),
    Buffer.from(header),
    body,
    Buffer.from(footer),
    footerLength,
    Buffer.from('PAR1'),
  ])
}
