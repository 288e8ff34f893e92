/** Workbooks and Parquet files: ordinary ones with the rows that they give, and hostile ones. The same at every run. */
import type { TableFormat } from '../../src/cores/loads/read-table.ts'
import { damaged, noise } from './document-corpus.ts'
import { makeZip } from './document-files.ts'
import { makeParquet, makeParquetPage, makeXlsx, type Value } from './table-files.ts'

type File = { readonly name: string; readonly format: TableFormat; readonly content: Uint8Array }

const cell = (xml: string) => ({ xml })

export const ordinaryTables = (): (File & { readonly row: Readonly<Record<string, unknown>> })[] => {
  const one = (name: string, value: Value, said: unknown) => ({
    name,
    format: 'xlsx' as const,
    content: makeXlsx({
      S: [
        ['id', 'value'],
        ['a', value],
      ],
    }),
    row: { id: 'a', ...(said === undefined ? {} : { value: said }) },
  })
  const parquet = (
    name: string,
    type: 'STRING' | 'INT32' | 'INT64' | 'DOUBLE' | 'BOOLEAN' | 'TIMESTAMP',
    value: unknown,
    said: unknown,
  ) => ({
    name,
    format: 'parquet' as const,
    content: makeParquet([
      { name: 'id', data: ['a'], type: 'STRING' },
      { name: 'value', data: [value] as never[], type },
    ]),
    row: { id: 'a', value: said },
  })
  return [
    one('text', 'Grüße & <b>', 'Grüße & <b>'),
    one('blanks', ' kept ', ' kept '),
    one('number', 0.1, '0.1'),
    one('sum of doubles', cell('<c><v>0.30000000000000004</v></c>'), '0.3'),
    one('many digits', cell('<c><v>9007199254740993</v></c>'), '9007199254740993'),
    one('small', cell('<c><v>1E-7</v></c>'), '0.0000001'),
    one('large', cell('<c><v>1.5E+21</v></c>'), '1500000000000000000000'),
    one('true', true, 'true'),
    one('day', cell('<c s="1"><v>46082</v></c>'), '2026-03-01'),
    one('own format of days', cell('<c s="4"><v>46082</v></c>'), '2026-03-01'),
    one('time', cell('<c s="2"><v>0.5</v></c>'), '12:00:00'),
    one('day and time', cell('<c s="3"><v>46082.5</v></c>'), '2026-03-01 12:00:00'),
    one('formula', cell('<c><f>SUM(A1:A2)</f><v>3</v></c>'), '3'),
    one('formula of text', cell('<c t="str"><f>A1</f><v>x</v></c>'), 'x'),
    one('error', cell('<c t="e"><v>#N/A</v></c>'), undefined),
    one('empty', null, undefined),
    one('written as a day', cell('<c t="d"><v>2026-03-01</v></c>'), '2026-03-01'),
    parquet('text', 'STRING', 'Grüße', 'Grüße'),
    parquet('no text', 'STRING', null, null),
    parquet('whole', 'INT32', -5, '-5'),
    parquet('large', 'INT64', 9_007_199_254_740_993n, '9007199254740993'),
    parquet('part', 'DOUBLE', 0.25, '0.25'),
    parquet('true', 'BOOLEAN', true, true),
    parquet('moment', 'TIMESTAMP', new Date('2026-03-01T12:00:00Z'), '2026-03-01T12:00:00.000Z'),
  ]
}

/** `share` of their size. */
export function hostileTables(share = 1): File[] {
  const many = (count: number): number => Math.ceil(count * share)
  const rows = [['id', 'value'], ...Array.from({ length: 40 }, (_, at) => [`row ${at}`, at])]
  const xlsx = makeXlsx({ S: rows })
  const parquet = makeParquet([
    { name: 'id', data: rows.map(([id]) => String(id)), type: 'STRING' },
    { name: 'n', data: rows.map((_, at) => at), type: 'INT32' },
  ])
  const footer = (length: number) => {
    const copy = Buffer.from(parquet)
    copy.writeUInt32LE(length, copy.length - 8)
    return copy
  }
  const sheet = (body: string) => makeXlsx({ S: `<worksheet><sheetData>${body}</sheetData></worksheet>` })
  const declared = Buffer.from(xlsx)
  for (
    let at = declared.indexOf('PK\u0001\u0002');
    at !== -1;
    at = declared.indexOf('PK\u0001\u0002', at + 4)
  ) {
    declared.writeUInt32LE(0x7fff_ffff, at + 24)
  }
  const books: (readonly [string, Uint8Array])[] = [
    ['bomb', makeXlsx({ S: `<worksheet>${' '.repeat(many(300_000_000))}</worksheet>` })],
    [
      'bomb of texts',
      makeXlsx({ S: rows }, { strings: `<sst>${'<si><t>a</t></si>'.repeat(many(16_000_000))}</sst>` }),
    ],
    [
      'one huge text',
      makeXlsx({ S: rows }, { strings: `<sst><si><t>€${'a'.repeat(many(126_000_000))}</t></si></sst>` }),
    ],
    ['bomb of styles', makeXlsx({ S: rows }, { styles: '<numFmt numFmtId="1"/>'.repeat(many(1_000_000)) })],
    [
      'endless rows',
      sheet(`<row><c t="str"><v>id</v></c></row>${'<row><c><v>1</v></c></row>'.repeat(many(2_000_000))}`),
    ],
    [
      'huge cell',
      sheet(
        `<row><c t="str"><v>id</v></c></row><row><c t="str"><v>${'x'.repeat(many(100_000_000))}</v></c></row>`,
      ),
    ],
    ['sizes of two gigabytes', declared],
    ['a password', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), noise(4_096, 1)])],
    [
      'encrypted parts',
      makeZip({ 'xl/workbook.xml': '<workbook/>', 'xl/_rels/workbook.xml.rels': '<a/>' }, 1),
    ],
    ['nothing in it', makeZip({})],
    ['no workbook', makeZip({ 'word/document.xml': '<w/>' })],
    ['no sheets', makeXlsx({})],
    [
      'a sheet elsewhere',
      makeZip({
        'xl/workbook.xml': '<workbook><sheet name="S" r:id="a"/></workbook>',
        'xl/_rels/workbook.xml.rels': '<Relationship Id="a" Type="/worksheet" Target="../../../etc/passwd"/>',
      }),
    ],
    [
      'a hundred thousand sheets',
      makeZip({
        'xl/workbook.xml': `<workbook>${'<sheet name="S" r:id="a"/>'.repeat(many(100_000))}</workbook>`,
        'xl/_rels/workbook.xml.rels': '<Relationship Id="a" Type="/worksheet" Target="a.xml"/>',
      }),
    ],
    [
      'entities',
      sheet(
        `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><row><c t="str"><v>${'&a;'.repeat(many(100_000))}</v></c></row>`,
      ),
    ],
    ['rows backwards', sheet('<row r="5"/><row r="4"/>')],
    ['the last row alone', sheet('<row r="1"><c><v>1</v></c></row><row r="1048576"><c><v>2</v></c></row>')],
    ['a row of billions', sheet('<row r="99999999999"/>')],
    ['a row of less than nothing', sheet('<row r="-1"/>')],
    ['a column of millions', sheet('<row r="1"><c r="ZZZZZ1"><v>1</v></c></row>')],
    ['a column that is none', sheet('<row r="1"><c r="11"><v>1</v></c></row>')],
    ['a text that is not there', sheet('<row><c t="s"><v>99999999</v></c></row>')],
    ['a number that is none', sheet('<row><c><v>nope</v></c></row>')],
    ['a day beyond all', sheet('<row><c s="1"><v>1e300</v></c></row>')],
    ['nested', sheet('<row>'.repeat(many(200_000)))],
    ['NUL', sheet('<row><c t="str"><v>a_x0000_b</v></c></row><row><c t="str"><v>_x0000_</v></c></row>')],
    ['half a character', sheet('<row><c t="str"><v>a</v></c></row><row><c t="str"><v>_xD800_</v></c></row>')],
    ['cut', xlsx.subarray(0, xlsx.length / 2)],
    ['noise', noise(50_000, 7)],
    ...Array.from({ length: 8 }, (_, at) => [`damaged ${at}`, damaged(xlsx, at + 1)] as const),
  ]
  const columns: (readonly [string, Uint8Array])[] = [
    ['encrypted', Buffer.from('PARE and more PARE')],
    ['only its marks', Buffer.from('PAR1PAR1PAR1')],
    ['cut', parquet.subarray(0, parquet.length - 20)],
    ['noise', Buffer.concat([Buffer.from('PAR1'), noise(50_000, 3), Buffer.from('PAR1')])],
    ['a footer of two gigabytes', footer(0x7fff_ffff)],
    ['a footer of nothing', footer(0)],
    ['a footer of a byte', footer(1)],
    [
      'endless rows',
      makeParquet([
        { name: 'a', data: Array.from({ length: many(6_000_000) }, () => 'xxxxxxxx'), type: 'STRING' },
      ]),
    ],
    ['a huge value', makeParquet([{ name: 'a', data: ['x'.repeat(many(60_000_000))], type: 'STRING' }])],
    ['a page of more values than rows', makeParquetPage(many(31_000_000), { rows: 1, isList: false })],
    ['a page of as many values as it says', makeParquetPage(many(31_000_000), { rows: 1, isList: true })],
    ['rows without an end', makeParquetPage(many(31_000_000), { rows: many(31_000_000), isList: false })],
    ...Array.from({ length: 12 }, (_, at) => [`damaged ${at}`, damaged(parquet, at + 1)] as const),
  ]
  return [
    ...books.map(([name, content]) => ({ name, format: 'xlsx' as const, content })),
    ...columns.map(([name, content]) => ({ name, format: 'parquet' as const, content })),
  ]
}
