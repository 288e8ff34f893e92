import fc from 'fast-check'
import { describe, expect, inject, test } from 'vitest'
import { LOAD_COLUMN_NAME_CHARACTERS, LOAD_COLUMNS_MAX, LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { toUtf8 } from './encoding.ts'
import { readHeader, readRows, type TextFormat } from './read-rows.ts'

/** The whole file, in parts of `size` bytes as the steps of a load read it. */
function read(
  file: string | Buffer,
  { format = 'csv', size = Infinity }: { format?: TextFormat; size?: number } = {},
) {
  const bytes = Buffer.from(file)
  const header = readHeader(format, bytes, true)
  const rows: { line: number; cells: readonly string[] }[] = []
  const problems = [...header.problems]
  let [at, line, window] = [header.consumed, header.line, size]
  // Without a header a load does not start.
  while (at < bytes.length && header.headers.length > 0) {
    const part = bytes.subarray(at, Math.min(bytes.length, at + window))
    const isLast = at + part.length >= bytes.length
    const found = readRows(format, part, { ...header, line, isLast })
    for (const row of found.rows) {
      if ('cells' in row) rows.push(row)
      else problems.push(`line ${row.line}: ${row.problem}`)
    }
    if (found.isBroken) break
    // A part without a whole row: steps have parts that are larger than any row.
    window = found.consumed === 0 ? window * 2 : size
    at += found.consumed
    line = found.line
  }
  return { header, rows, problems }
}

const cellsOf = (file: string | Buffer, options = {}) => read(file, options).rows.map(({ cells }) => cells)

describe('rows of CSV', () => {
  test.each<[string, string, readonly (readonly string[])[]]>([
    ['plain values', 'a,b\n1,2\n', [['1', '2']]],
    ['the last line without an end', 'a,b\n1,2', [['1', '2']]],
    ['lines that end as on Windows', 'a,b\r\n1,2\r\n', [['1', '2']]],
    ['lines that end as on old Macs', 'a,b\r1,2\r', [['1', '2']]],
    ['a byte order mark', '\uFEFFa,b\n1,2\n', [['1', '2']]],
    ['commas, quotes and lines inside of quotes', 'a,b\n"x,""y""","z\nw"\n', [['x,"y"', 'z\nw']]],
    ['quotes inside of plain values', 'a,b\n5" disk,x"y"\n', [['5" disk', 'x"y"']]],
    ['empty values, quoted and not', 'a,b\n,""\n', [['', '']]],
    ['blank lines, which are none', '\n\na,b\n\n1,2\n\n', [['1', '2']]],
    ['semicolons', 'a;b\n1,5;2\n', [['1,5', '2']]],
    ['tabs', 'a\tb\n1\t2\n', [['1', '2']]],
    ['bars', 'a|b\n1,5|2\n', [['1,5', '2']]],
    ['the mark that the file names', 'sep=^\r\na^b\r\n1,2^"3^4"\r\n', [['1,2', '3^4']]],
    [
      'formulas, which are text here',
      'a,b\n"=cmd|\' /C calc\'!A0",@SUM(A1)\n',
      [["=cmd|' /C calc'!A0", '@SUM(A1)']],
    ],
    ['every script', 'a,b\n日本,🦊é\n', [['日本', '🦊é']]],
    ['a character that stands for a broken one', 'a,b\n\uFFFD,x\n', [['\uFFFD', 'x']]],
  ])('%s', (_, file, rows) => {
    expect(read(file).problems).toEqual([])
    expect(cellsOf(file)).toEqual(rows)
  })

  test('a quoted value of one column that is empty is a row', () => {
    expect(cellsOf('a\n""\nx\n')).toEqual([[''], ['x']])
  })

  test('what is written is read again, in parts of every size', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
      fc.constantFrom('', '"', '""', ',', '\n', '\r\n', ' x ', 'a"b', '\uFEFF'),
    )
    const file = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 6 })
    const ending = fc.constantFrom('\n', '\r\n')
    const write = (rows: readonly (readonly string[])[], end: string) =>
      ['a,b', ...rows.map((cells) => cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(','))]
        .map((row) => row + end)
        .join('')
    fc.assert(
      fc.property(file, ending, fc.integer({ min: 1, max: 50 }), (rows, end, size) => {
        const found = read(write(rows, end), { size })
        expect(found.problems).toEqual([])
        expect(found.rows.map(({ cells }) => cells)).toEqual(
          rows.map((cells) => cells.map((text) => text.toWellFormed())),
        )
      }),
    )
  })

  test('any bytes give rows or problems, the same in parts of every size, and never an error', () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from('a,"\r\n;\t\0é').values(), 0xff, 0xc3), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 20 }), (content, size) => {
        const file = Buffer.from([...Buffer.from('a,b\n'), ...content])
        const whole = read(file)
        expect(read(file, { size })).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })
})

describe('lines', () => {
  test('are counted through values of several lines, blank lines and every kind of end', () => {
    const file = 'a,b\r\n"x\ny",1\r\n\r\n"u\rv",2\n3,4\n'
    expect(read(file).rows.map(({ line }) => line)).toEqual([2, 5, 7])
    expect(read(file, { size: 3 }).rows.map(({ line }) => line)).toEqual([2, 5, 7])
  })
})

describe('every problem of a file is told with its line', () => {
  test('rows that are too short or too long', () => {
    expect(read('a,b\n1\n1,2\n1,2,3\n').problems).toEqual([
      'line 2: the row has 1 value, and the header has 2',
      'line 4: the row has 3 values, and the header has 2',
    ])
  })

  test('text behind a closing quote', () => {
    expect(read('a,b\n"x"y,1\n1,2\n')).toMatchObject({
      problems: ['line 2: there is text behind the closing quote of a value'],
      rows: [{ line: 3, cells: ['1', '2'] }],
    })
  })

  test('a quote that does not end', () => {
    expect(read('a,b\n1,2\n"x,1\n1,2\n').problems).toEqual([
      'line 3: a quoted value that begins in this row does not end, or is too long; nothing behind it was checked',
    ])
  })

  test('another encoding', () => {
    const latin1 = Buffer.from('a,b\n1,2\ncaf\xe9,1\n', 'latin1')
    expect(read(latin1).problems).toEqual(['line 3: the text is not UTF-8; save the file as UTF-8'])
    const utf8 = Buffer.from('\uFEFFa,b\n1,2\n')
    expect(read(utf8)).toMatchObject({ header: { headers: ['a', 'b'] }, rows: [{ cells: ['1', '2'] }] })
  })

  test('NUL', () => {
    expect(read('a,b\n1,2\n1,\0\n').problems).toEqual([
      'line 3: a value contains the NUL character, which cannot be stored',
    ])
  })

  test('a header without names, with the same twice, or with too many', () => {
    expect(read('a,,a\n').problems).toEqual([
      'line 1: column 2 has no name',
      'line 1: column 3 has the name of an earlier one',
    ])
    const wide = Array.from({ length: LOAD_COLUMNS_MAX + 1 }, (_, at) => `c${at}`).join(',')
    expect(read(`${wide}\n`).problems).toEqual([
      `line 1: the file has ${LOAD_COLUMNS_MAX + 1} columns; at most ${LOAD_COLUMNS_MAX} are loaded`,
    ])
    expect(read('').problems).toEqual(['line 1: the file has no header'])
  })

  test('a header after blank lines has its own line', () => {
    expect(read('\n\na,a\n').problems).toEqual(['line 3: column 2 has the name of an earlier one'])
    expect(read('\n\nnope\n', { format: 'ndjson' }).problems[0]).toBe(
      'line 3: the line is not a JSON object with names',
    )
    expect(cellsOf('\n \n{"a":"1"}\n', { format: 'ndjson' })).toEqual([['1']])
  })

  test('of a header that is too much nothing is handed on', () => {
    const tooLong = `line 1: the name of column 2 has more than ${LOAD_COLUMN_NAME_CHARACTERS} characters`
    const commas = Buffer.from(`${','.repeat(LOAD_RECORD_BYTES - 1)}\n`)
    expect(readHeader('csv', commas, true)).toMatchObject({
      headers: [],
      problems: [`line 1: the file has ${LOAD_RECORD_BYTES} columns; at most ${LOAD_COLUMNS_MAX} are loaded`],
    })
    const long = Buffer.from(`a,${'x'.repeat(250_000)}\n1,2\n`)
    expect(readHeader('csv', long, true)).toMatchObject({ headers: [], problems: [tooLong] })
    const marks = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => ['!'.repeat(at % 9) + at, 1]))
    expect(readHeader('ndjson', Buffer.from(`${JSON.stringify(marks)}\n`), true).headers).toEqual([])
    const key = Buffer.from(`{"a":1,"${'x'.repeat(201)}":2}\n`)
    expect(readHeader('ndjson', key, true)).toMatchObject({ headers: [], problems: [tooLong] })
  })

  test.runIf(inject('everyCase'))(
    'rows of nothing but commas, and lines of nothing, are read in no time',
    () => {
      const commas = Buffer.from(`a,b\n${`${','.repeat(1024 * 1024)}\n`.repeat(3)}1,2\n`)
      const nothing = `a,b\n${'\n'.repeat(1024 * 1024)}1,2\n`
      expect(cpuMs(() => [read(commas), read(nothing)])).toBeLessThan(10_000)
      expect(read(commas)).toMatchObject({
        problems: [2, 3, 4].map((line) => `line ${line}: the row is longer than 256 KiB`),
        rows: [{ line: 5 }],
      })
      expect(read(nothing).rows).toMatchObject([{ line: 1024 * 1024 + 2 }])
    },
  )

  test.each<TextFormat>(['csv', 'ndjson'])('of %s so many rows are read as are asked for', (format) => {
    const file = Buffer.from(format === 'csv' ? '1\n2\n3\n' : '{"a":1}\n{"a":2}\n{"a":3}\n')
    const asked = { delimiter: ',', headers: ['a'], line: 2, isLast: true, rowsMax: 2 }
    const found = readRows(format, file, asked)
    expect(found.rows).toMatchObject([{ cells: ['1'] }, { cells: ['2'] }])
    const rest = readRows(format, file.subarray(found.consumed), { ...asked, line: found.line })
    expect(rest.rows).toEqual([{ line: 4, cells: ['3'] }])
  })

  test('a row that is too long is left out, and the next one is read', () => {
    const long = `"${'x'.repeat(LOAD_RECORD_BYTES)}",1`
    expect(read(`a,b\n${long}\n1,2\n`)).toMatchObject({
      problems: ['line 2: the row is longer than 256 KiB'],
      rows: [{ line: 3 }],
    })
  })

  test('a row without an end is found without reading the rest of the file', () => {
    const part = Buffer.alloc(2 * LOAD_RECORD_BYTES, 'x')
    const found = readRows('csv', part, { delimiter: ',', headers: ['a'], line: 7, isLast: false })
    expect(found).toMatchObject({ isBroken: true, rows: [{ line: 7 }] })
  })
})

describe('rows of NDJSON', () => {
  test('have the names of the first, in any order, and text, numbers, true, false and null', () => {
    const file = '{"id":1,"text":"x","ok":true}\n\n{"ok":false,"id":"2"}\r\n{"id":null,"text":"\\ud800"}'
    expect(cellsOf(file, { format: 'ndjson' })).toEqual([
      ['1', 'x', 'true'],
      ['2', '', 'false'],
      ['', '\uFFFD', ''],
    ])
  })

  test('may lack what others have, and hold lists, and objects whose names are put together', () => {
    const file =
      '{"id":1}\n{"id":2,"to":{"city":"Bern","at":{"zip":"007"}},"tags":["a","b \\"c\\"",1.10,true,null]}\n' +
      '{"id":3,"tags":"one","to":{"city":null}}\n{"id":4,"tags":[],"to":{}}\n'
    const { header, problems } = read(file, { format: 'ndjson' })
    expect([header.headers, header.lists, problems]).toEqual([
      ['id', 'to.city', 'to.at.zip', 'tags'],
      ['tags'],
      [],
    ])
    expect(cellsOf(file, { format: 'ndjson' })).toEqual([
      ['1', '', '', ''],
      ['2', 'Bern', '007', '["a","b \\"c\\"","1.10","true",null]'],
      ['3', '', '', '["one"]'],
      ['4', '', '', '[]'],
    ])
  })

  test('have their numbers as they are written', () => {
    const file = '{"id":1234567890123456789,"n":1.10}\n{"id":1e400,"n":-0}\n{"id":1e5,"n":-2.50E-3}\n'
    expect(cellsOf(file, { format: 'ndjson' })).toEqual([
      ['1234567890123456789', '1.10'],
      ['1e400', '-0'],
      ['100000', '-0.0025'],
    ])
  })

  test('have no names that cannot be stored', () => {
    expect(read('{"a\\u0000":1,"\\ud800":2}\n', { format: 'ndjson' }).problems.slice(0, 2)).toEqual([
      'line 1: column 1 has a name that cannot be stored',
      'line 1: column 2 has a name that cannot be stored',
    ])
  })

  test('and each problem has its line', () => {
    const file = '{"a":1}\nnope\n[1]\n{"a":[1]}\n{"b":1}\n{"a":"\\u0000"}\n{"__proto__":1}\n{"a":{"c":1}}\n'
    const reading = { delimiter: ',', headers: ['a'], line: 1, isLast: true }
    const { rows } = readRows('ndjson', Buffer.from(file), reading)
    expect(rows.flatMap((row) => ('problem' in row ? [`line ${row.line}: ${row.problem}`] : []))).toEqual([
      'line 2: the line is not a JSON object',
      'line 3: the line is not a JSON object',
      'line 4: a value is a list where the first rows have none, a list of lists or objects where theirs are not, or one that cannot be stored',
      'line 5: the object has a name that none of the first rows has',
      'line 6: a value contains the NUL character, which cannot be stored',
      'line 7: the object has a name that none of the first rows has',
      'line 8: the object has a name that none of the first rows has',
    ])
    expect(
      read('{"a":1}\n{"b":[[1]]}\n{"b":[{"c":1}]}\n{"b":["\\u0000"]}\n{"a.c":1,"a":{"c":2}}\n', {
        format: 'ndjson',
      }).problems,
    ).toEqual([
      'line 4: a value is a list where the first rows have none, a list of lists or objects where theirs are not, or one that cannot be stored',
      'line 5: two values have the same name, or objects lie too deep in one another',
    ])
    const deepBy = (depth: number) => `{"a":1}\n${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}\n`
    expect(read(deepBy(10_000), { format: 'ndjson' }).problems).toHaveLength(1)
    expect(read(deepBy(10), { format: 'ndjson' }).problems).toEqual([
      'line 2: two values have the same name, or objects lie too deep in one another',
    ])
    expect(read('nope\n', { format: 'ndjson' }).problems[0]).toBe(
      'line 1: the line is not a JSON object with names',
    )
  })
})

describe('UTF-16', () => {
  const FILE = 'name;größe\r\n"Ann\nLee";12,5\r\n👩‍👩‍👧;日本\r\n'
  const CELLS = [
    ['Ann\nLee', '12,5'],
    ['👩‍👩‍👧', '日本'],
  ]
  const little = Buffer.from(`\uFEFF${FILE}`, 'utf16le')

  test.each([
    ['little end first', little],
    ['big end first', Buffer.from(little).swap16()],
    ['without a mark', little.subarray(2)],
  ])('%s: the same rows in parts of any size', (_what, file) => {
    for (let size = 1; size <= file.length; size++) expect(cellsOf(file, { size })).toEqual(CELLS)
    expect(read(file).rows.map(({ line }) => line)).toEqual([2, 4])
  })

  test('also of NDJSON and JSON', () => {
    const text = '\uFEFF[{"a": "ü"}, {"a": "👩"}]'
    expect(cellsOf(Buffer.from(text, 'utf16le'), { format: 'json', size: 7 })).toEqual([['ü'], ['👩']])
    expect(cellsOf(Buffer.from('\uFEFF{"a":"ü"}\n', 'utf16le'), { format: 'ndjson' })).toEqual([['ü']])
  })
})

describe('a delimiter that was chosen', () => {
  test.each(['^', ':', '~', ' '])('%s', (delimiter) => {
    const file = Buffer.from(`a${delimiter}b\n"1${delimiter}";2${delimiter}3\n`.replace(';2', ''))
    const header = readHeader('csv', file, true, delimiter)
    expect(header.headers).toEqual(['a', 'b'])
    const { rows } = readRows('csv', file.subarray(header.consumed), { ...header, isLast: true })
    expect(rows).toMatchObject([{ cells: [`1${delimiter}`, '3'] }])
  })
})

describe('rows of JSON', () => {
  const LIST = '\uFEFF\n [ {"a": 1, "b": {"c": "}]"}},\n\n{"a": "x\\\\", "d": ["y", null]} \n, {}\n]\n '
  const CELLS = [
    ['1', '}]', ''],
    ['x\\', '', '["y",null]'],
    ['', '', ''],
  ]

  test('a list of objects, in parts of any size', () => {
    const { header, rows, problems } = read(LIST, { format: 'json' })
    expect({ headers: header.headers, problems }).toEqual({ headers: ['a', 'b.c', 'd'], problems: [] })
    expect(rows.map(({ line }) => line)).toEqual([2, 4, 5])
    for (let size = 1; size <= LIST.length + 4; size++) {
      expect(cellsOf(LIST, { format: 'json', size })).toEqual(CELLS)
    }
  })

  // Looking for the end of the line for each object takes longer than a test may.
  test.runIf(inject('everyCase'))('a long list in a single line', () => {
    const file = Buffer.from(`[${'{"a":1},'.repeat(300_000)}{"b":2}]`)
    expect(readHeader('json', file, true).headers).toEqual(['a', 'b'])
  })

  test('objects one after the other', () => {
    expect(cellsOf('{"a": 1}\n{\n"a": 2}  {"a": 3}', { format: 'json', size: 3 })).toEqual([
      ['1'],
      ['2'],
      ['3'],
    ])
  })

  test.each([
    ['[1, 2]', 'line 1: the file is no list of JSON objects with names'],
    ['[]', 'line 1: the file is no list of JSON objects with names'],
    ['{"rows": ', 'line 1: the file is no list of JSON objects with names'],
    ['[{"a": 1},\n2]', 'line 2: the file is no list of JSON objects; nothing behind this was checked'],
    ['[{"a": 1}\n{"a": 2}]', 'line 1: the file is no list of JSON objects; nothing behind this was checked'],
    ['[{"a": 1},\n{"a": 2}', 'line 2: the file ends in the middle: it may have been cut'],
    ['[{"a": 1}] x', 'line 1: there is something behind the end of the list'],
    ['[{"a": 1},{"a": nope}]', 'line 1: the line is not a JSON object'],
    [`[{"a": 1},{"a": "${'x'.repeat(2 * LOAD_RECORD_BYTES)}"}]`, 'line 1: the row is longer than 256 KiB'],
    [
      `[{"a": 1},{"a": "${'x'.repeat(2 * LOAD_RECORD_BYTES)}`,
      'line 1: the row is longer than 256 KiB; nothing behind it was checked',
    ],
  ])('what is wrong is told with its line: %.30s', (file, problem) => {
    expect(read(file, { format: 'json' }).problems).toEqual([problem])
  })
})

test('a window of UTF-16 ends before half a character', () => {
  for (const encoding of ['utf-16le', 'utf-16be'] as const) {
    const bytes = Buffer.from('a😀b', 'utf16le')
    if (encoding === 'utf-16be') bytes.swap16()
    const read = [2, 3, 4, 5, 6, 7].map((length) =>
      String(toUtf8(bytes.subarray(0, length), encoding, false)),
    )
    expect(read).toEqual(['a', 'a', 'a', 'a', 'a😀', 'a😀'])
  }
})
