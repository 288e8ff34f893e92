import type { SchemaElement } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { describe, expect, test } from 'vitest'
import { makeZip } from '../../../test/support/document-files.ts'
import { makeParquet, makeXlsx } from '../../../test/support/table-files.ts'
import type { TableFile } from '../../cores/loads/read-table.ts'
import { LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import { readTable } from './read-table.ts'
import { openZip } from './read-zip.ts'
import { createTableRows } from './table-rows.ts'

async function read(content: Uint8Array, more: Partial<TableFile> = {}) {
  const found = await readTable({ format: 'xlsx', content, ...more })
  if ('problem' in found) return found
  const { rows, ...others } = found
  return { ...others, rows: Buffer.from(rows).toString().split('\n').slice(0, -1) }
}

test('of what cannot be loaded the first problems are told, and how many there are', () => {
  const rows = createTableRows()
  for (let line = 1; line <= LOAD_PROBLEMS_SHOWN + 2; line++) rows.refuse(line, 'is wrong')
  const { problems, problemCount } = rows.end()
  expect([problems.length, problems.at(-1)]).toEqual([
    LOAD_PROBLEMS_SHOWN,
    `line ${LOAD_PROBLEMS_SHOWN}: is wrong`,
  ])
  expect(problemCount).toBe(LOAD_PROBLEMS_SHOWN + 2)
})

test('the files of an archive have room together, and not each', () => {
  const zip = openZip(makeZip({ a: 'x'.repeat(60), b: 'y'.repeat(60), c: 'z'.repeat(40) }), 100)
  expect(zip.read('a')).toHaveLength(60)
  expect(() => zip.read('b')).toThrow('too large when it is unpacked')
  expect(zip.read('c')).toHaveLength(40)
})

describe('workbooks', () => {
  test('the first row that says anything is the header, and each row keeps its number', async () => {
    const file = makeXlsx({
      Staff: [
        [],
        ['name', 'since', 'rate', 'at', 'is here'],
        [],
        [
          'Ann',
          { xml: '<c s="1"><v>46082</v></c>' },
          12.5,
          { xml: '<c s="2"><v>0.395833333333333</v></c>' },
          true,
        ],
      ],
    })
    expect(await read(file)).toMatchObject({
      sheets: ['Staff'],
      sheet: 'Staff',
      line: 2,
      headers: ['name', 'since', 'rate', 'at', 'is here'],
      rows: [
        '',
        '',
        '',
        '{"name":"Ann","since":"2026-03-01","rate":"12.5","at":"09:30:00","is here":"true"}',
      ],
      problemCount: 0,
    })
  })

  test('a formula gives its value, and one without a value is told with its row', async () => {
    const file = makeXlsx({
      S: [
        ['a', 'b'],
        [{ xml: '<c><f>1+2</f><v>3</v></c>' }, { xml: '<c t="str"><f>"x"</f><v>x</v></c>' }],
        [{ xml: '<c><f>1+2</f></c>' }, 'y'],
        [{ xml: '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>' }, 'z'],
      ],
    })
    expect(await read(file)).toMatchObject({
      rows: ['', '{"a":"3","b":"x"}', '', '{"b":"z"}'],
      problems: ['line 3: a formula has no value; open the file, and save it again'],
      problemCount: 1,
    })
  })

  test('days, times and both, counted from 1900 or from 1904', async () => {
    const [day, both, own] = [1, 3, 4].map((style) => ({ xml: `<c s="${style}"><v>59.25</v></c>` }))
    const rows = [
      ['a', 'b', 'c'],
      [day!, both!, own!],
    ]
    expect(await read(makeXlsx({ S: rows }))).toMatchObject({
      rows: ['', '{"a":"1900-02-28 06:00:00","b":"1900-02-28 06:00:00","c":"1900-02-28 06:00:00"}'],
    })
    expect(await read(makeXlsx({ S: rows }, { startsIn1904: true }))).toMatchObject({
      rows: ['', expect.stringContaining('1904-02-29 06:00:00')],
    })
  })

  test('texts that are shared, in parts, escaped, or with a guide to how they are spoken', async () => {
    const strings =
      '<sst><si><t>name</t></si><si><r><t>Ann</t></r><r><t xml:space="preserve"> &amp; Bo</t></r><rPh><t>no</t></rPh></si><si><t>a_x000A_b</t></si></sst>'
    const shared = (at: number) => ({ xml: `<c t="s"><v>${at}</v></c>` })
    const file = makeXlsx({ S: [[shared(0)], [shared(1)], [shared(2)], [shared(99)]] }, { strings })
    expect(await read(file)).toMatchObject({ rows: ['', '{"name":"Ann & Bo"}', String.raw`{"name":"a\nb"}`] })
    const inline =
      '<c t="inlineStr"><is><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><r><t> 1</t></r></is></c>'
    expect(await read(makeXlsx({ S: [['name'], [{ xml: inline }]] }))).toMatchObject({
      rows: ['', '{"name":"東京 1"}'],
    })
  })

  test('the sheet that was chosen, of those that people see', async () => {
    const file = makeXlsx(
      { Hidden: [['x'], ['1']], A: [['a'], ['1']], B: [['b'], ['2']] },
      { hidden: ['Hidden'] },
    )
    expect(await read(file)).toMatchObject({ sheets: ['A', 'B'], sheet: 'A', headers: ['a'] })
    expect(await read(file, { sheet: 'B' })).toMatchObject({
      sheet: 'B',
      headers: ['b'],
      rows: ['', '{"b":"2"}'],
    })
    expect(await read(file, { sheet: 'Hidden' })).toEqual({
      problem: 'There is no such sheet. It has “A”, “B”.',
    })
  })

  test('only as many rows as are wanted; a value without a name is told', async () => {
    const file = makeXlsx({ S: [['a', null, 'c'], ['1', null, '3'], ['1', '2'], ['4']] })
    expect(await read(file, { rowsMax: 1 })).toMatchObject({
      rows: ['', '{"a":"1","c":"3"}'],
      problemCount: 0,
    })
    expect(await read(file)).toMatchObject({
      headers: ['a', 'c'],
      problems: ['line 3: a value stands in a column without a name'],
    })
  })

  test.each<[string, Uint8Array, RegExp]>([
    ['no archive', Buffer.from('PK no'), /archive cannot be read/],
    ['another archive', makeZip({ 'a.txt': 'a' }), /no XLSX file/],
    ['a password', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]), /password/],
    ['encrypted entries', makeZip({ 'xl/workbook.xml': '<workbook/>' }, 1), /password/],
    [
      'rows backwards',
      makeXlsx({
        S: '<worksheet><sheetData><row r="2"><c><v>1</v></c></row><row r="1"/></sheetData></worksheet>',
      }),
      /broken/,
    ],
    ['a row of billions', makeXlsx({ S: '<worksheet><row r="4000000000"/></worksheet>' }), /broken/],
    ['a number that is none', makeXlsx({ S: [['a'], [{ xml: '<c><v>1e999</v></c>' }]] }), /broken/],
    ['tags in tags', makeXlsx({ S: '<a>'.repeat(5_000) }), /broken/],
  ])('a sentence for %s', async (_what, content, sentence) => {
    expect(await read(content)).toEqual({ problem: expect.stringMatching(sentence) })
  })
})

describe('Parquet', () => {
  const parquet = { format: 'parquet' } as const

  test('values of all kinds', async () => {
    const file = makeParquet([
      { name: 'name', data: ['Ann', null], type: 'STRING' },
      { name: 'n', data: [1n, 12345678901234567890n].map((n) => BigInt.asIntN(64, n)), type: 'INT64' },
      { name: 'rate', data: [1e-7, Number.NaN], type: 'DOUBLE' },
      { name: 'ok', data: [true, false], type: 'BOOLEAN' },
      {
        name: 'at',
        data: [new Date('2026-03-01T09:30:00Z'), new Date('2026-03-02T00:00:00Z')],
        type: 'TIMESTAMP',
      },
    ])
    expect(await read(file, parquet)).toMatchObject({
      sheets: [],
      sheet: null,
      headers: ['name', 'n', 'rate', 'ok', 'at'],
      lists: [],
      rows: [
        '',
        '{"name":"Ann","n":"1","rate":"0.0000001","ok":true,"at":"2026-03-01T09:30:00.000Z"}',
        '{"name":null,"n":"-6101065172474983726","rate":null,"ok":false,"at":"2026-03-02T00:00:00.000Z"}',
      ],
    })
    expect(await read(file, { ...parquet, rowsMax: 1 })).toMatchObject({ rows: ['', expect.any(String)] })
  })

  test('decimals, days, lists, and what lies in groups', async () => {
    const group = (name: string, num_children: number) => ({
      name,
      num_children,
      repetition_type: 'OPTIONAL' as const,
    })
    const text = (name: string) =>
      ({ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }) as const
    const file = Buffer.from(
      parquetWriteBuffer({
        columnData: [
          { name: 'price', data: [12.34, 1.005] },
          { name: 'since', data: [new Date('2026-03-01T00:00:00Z'), null] },
          { name: 'tags', data: [['a', 'b'], []] },
          { name: 'home', data: [{ city: 'Bonn' }, null] },
        ],
        schema: [
          { name: 'root', num_children: 4 },
          {
            name: 'price',
            type: 'INT64',
            converted_type: 'DECIMAL',
            scale: 3,
            precision: 18,
            repetition_type: 'OPTIONAL',
          },
          { name: 'since', type: 'INT32', converted_type: 'DATE', repetition_type: 'OPTIONAL' },
          { ...group('tags', 1), converted_type: 'LIST' },
          { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
          text('element'),
          group('home', 1),
          text('city'),
        ],
      }),
    )
    expect(await read(file, parquet)).toMatchObject({
      headers: ['price', 'since', 'tags', 'home.city'],
      lists: ['tags'],
      rows: [
        '',
        '{"price":"12.340","since":"2026-03-01","tags":["a","b"],"home.city":"Bonn"}',
        '{"price":"1.005","since":null,"tags":[],"home.city":null}',
      ],
    })
  })

  const leaf = (name: string, more: Partial<SchemaElement>): SchemaElement => ({
    name,
    repetition_type: 'OPTIONAL',
    ...more,
  })
  const written = (columnData: Parameters<typeof makeParquet>[0], schema: SchemaElement[]) =>
    Buffer.from(
      parquetWriteBuffer({
        columnData,
        schema: [{ name: 'root', num_children: columnData.length }, ...schema],
      }),
    )

  test('decimals of every form, to the last digit', async () => {
    const old = { converted_type: 'DECIMAL', scale: 2, precision: 19 } as const
    const newer = { logical_type: { type: 'DECIMAL', scale: 2, precision: 9 } } as const
    const bytes = (...values: number[]) => Uint8Array.from(values)
    const file = written(
      [
        { name: 'a', data: [1234567890123456789n, -5n] },
        { name: 'b', data: [1234, -1] },
        { name: 'c', data: [1234n, null] },
        { name: 'd', data: [bytes(0, 0, 4, 210), bytes(255, 255, 255, 255)] },
        { name: 'e', data: [bytes(4, 210), bytes()] },
        { name: 'f', data: [1234567890123456789012345678901234567n, 0n] },
      ],
      [
        leaf('a', { ...old, type: 'INT64' }),
        leaf('b', { ...newer, type: 'INT32' }),
        leaf('c', { ...newer, type: 'INT64' }),
        leaf('d', { ...newer, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 4 }),
        leaf('e', { ...newer, type: 'BYTE_ARRAY' }),
        leaf('f', {
          ...old,
          scale: 10,
          precision: 38,
          type: 'FIXED_LEN_BYTE_ARRAY',
          type_length: 16,
        }),
      ],
    )
    const found = await read(file, parquet)
    expect('rows' in found && found.rows.slice(1).map((row) => JSON.parse(row) as unknown)).toEqual([
      {
        a: '12345678901234567.89',
        b: '12.34',
        c: '12.34',
        d: '12.34',
        e: '12.34',
        f: '123456789012345678901234567.8901234567',
      },
      { a: '-0.05', b: '-0.01', c: null, d: '-0.01', e: '0.00', f: '0.0000000000' },
    ])
  })

  test('times to the last digit, days of newer files, and floats as they were meant', async () => {
    const time = (unit: 'MICROS' | 'NANOS') =>
      ({ type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit } }) as const
    const file = written(
      [
        { name: 'micros', data: [1_772_357_400_123_456n, -1n] },
        { name: 'older', data: [1_772_357_400_123_456n, 0n] },
        { name: 'nanos', data: [1_772_357_400_123_456_000n, 1_772_357_400_123_456_789n] },
        { name: 'day', data: [20_513, -1] },
        { name: 'float', data: [0.1, 1e-7].map(Math.fround) },
        { name: 'double', data: [0.1 + 0.2, 1.234567890123e-12] },
      ],
      [
        leaf('micros', time('MICROS')),
        leaf('older', { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' }),
        leaf('nanos', time('NANOS')),
        leaf('day', { type: 'INT32', logical_type: { type: 'DATE' } }),
        leaf('float', { type: 'FLOAT' }),
        leaf('double', { type: 'DOUBLE' }),
      ],
    )
    const found = await read(file, parquet)
    expect('rows' in found && found.rows.slice(1).map((row) => JSON.parse(row) as unknown)).toEqual([
      {
        micros: '2026-03-01T09:30:00.123456Z',
        older: '2026-03-01T09:30:00.123456Z',
        nanos: '2026-03-01T09:30:00.123456Z',
        day: '2026-03-01',
        float: '0.1',
        double: '0.30000000000000004',
      },
      {
        micros: '1969-12-31T23:59:59.999999Z',
        older: '1970-01-01T00:00:00.000Z',
        nanos: '2026-03-01T09:30:00.123456789Z',
        day: '1969-12-31',
        float: '0.0000001',
        double: '0.000000000001234567890123',
      },
    ])
  })

  const decimal = { type: 'INT64', converted_type: 'DECIMAL', scale: 2, precision: 18 } as const
  const mapOf = (key: Partial<SchemaElement>, value: Partial<SchemaElement>): SchemaElement[] => [
    leaf('map', { num_children: 1, converted_type: 'MAP' }),
    { name: 'key_value', num_children: 2, repetition_type: 'REPEATED' },
    leaf('key', { ...key, repetition_type: 'REQUIRED' }),
    leaf('value', value),
  ]

  test('what lies deeper has the same values', async () => {
    const file = written(
      [
        { name: 'prices', data: [{ list: [1234567890123456789n, null] }] },
        { name: 'map', data: [{ key_value: 1005n, other: null }] },
        {
          name: 'items',
          data: [[{ price: 1005n, weight: Math.fround(0.1), on: new Date('2026-03-01T00:00:00Z'), n: 7n }]],
        },
      ],
      [
        leaf('prices', { num_children: 1, logical_type: { type: 'LIST' } }),
        { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
        leaf('element', decimal),
        ...mapOf({ type: 'BYTE_ARRAY', converted_type: 'UTF8' }, decimal),
        leaf('items', { num_children: 1, converted_type: 'LIST' }),
        { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
        leaf('element', { num_children: 4 }),
        leaf('price', decimal),
        leaf('weight', { type: 'FLOAT' }),
        leaf('on', { type: 'INT32', converted_type: 'DATE' }),
        leaf('n', { type: 'INT64' }),
      ],
    )
    const found = await read(file, parquet)
    expect('rows' in found && found.rows.slice(1).map((row) => JSON.parse(row) as unknown)).toEqual([
      {
        prices: ['12345678901234567.89', null],
        map: '{"key_value":"10.05","other":null}',
        items: '[{"price":"10.05","weight":0.1,"on":"2026-03-01","n":"7"}]',
      },
    ])
  })

  test.each([
    ['of more digits than numbers have', { scale: 2_000_000_000, precision: 9 }],
    ['of fewer than none', { scale: -1, precision: 9 }],
  ])('a decimal %s is told', async (_what, decimal) => {
    const element = leaf('a', { type: 'INT32', logical_type: { type: 'DECIMAL', ...decimal } })
    expect(await read(written([{ name: 'a', data: [1] }], [element]), parquet)).toEqual({
      problem: expect.stringMatching(/broken/),
    })
  })

  test('decimals as keys are told, since they cannot be read exactly', async () => {
    const file = written([{ name: 'map', data: [null] }], mapOf(decimal, { type: 'INT64' }))
    expect(await read(file, parquet)).toEqual({ problem: expect.stringMatching(/exactly/) })
  })

  test.each<[string, Uint8Array, RegExp]>([
    ['no Parquet', Buffer.from('PAR1 and something else'), /no Parquet file/],
    ['an encrypted one', Buffer.from('PAR1 and something PARE'), /encrypted/],
    ['an empty one', Buffer.from('PAR1'), /no Parquet file/],
  ])('a sentence for %s', async (_what, content, sentence) => {
    expect(await read(content, parquet)).toEqual({ problem: expect.stringMatching(sentence) })
  })
})
