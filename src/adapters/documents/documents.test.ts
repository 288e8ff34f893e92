/** What becomes of ordinary and of hostile files, in the process that reads them. */
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { makeDocx, makePdf, makeZip } from '../../../test/support/document-files.ts'
import { makeParquetPage, makeXlsx } from '../../../test/support/table-files.ts'
import { createDocumentReader } from './index.ts'

const reader = createDocumentReader()
afterAll(() => reader.close())

const read = (path: string, content: string | Uint8Array) =>
  reader.readDocument('org', { path, content: Buffer.from(content) })
const passagesOf = async (path: string, content: string | Uint8Array) => {
  const found = await read(path, content)
  return 'problem' in found ? found.problem : found.passages.map(({ heading, text }) => [heading, text])
}

describe('Markdown', () => {
  test('has headings of both kinds, lists, tables, code, quotes and links', async () => {
    const text = `---
title: "Staff handbook"
access: [group:board]
---
Leave
=====

Everybody has **25** days, see [the form](https://forms.test/leave "form") and \`ask\`.

> Not carried over.

## Parental leave ##

- 12 weeks
  for each parent
- more on request

| Country | Weeks |
|---------|:-----:|
| DE      | 14    |

~~~sh
svc docs  sync
~~~

<!-- nobody reads this -->
<details><summary>More</summary>hidden</details>
`
    expect(await passagesOf('a.md', text)).toEqual([
      ['Staff handbook > Leave', 'Everybody has 25 days, see the form and ask.\n\nNot carried over.'],
      [
        'Staff handbook > Leave > Parental leave',
        '- 12 weeks for each parent\n- more on request\n\nCountry | Weeks\nDE | 14\n\nsvc docs  sync\n\nMore\n\nhidden',
      ],
    ])
  })

  test('has its first heading as title, or its name', async () => {
    expect(await read('a.md', '# First\n\ntext')).toMatchObject({ title: 'First' })
    expect(await read('notes/b.md', 'text')).toMatchObject({ title: 'b.md' })
  })
})

test('HTML has the same parts, without what nobody reads', async () => {
  const html = `<!doctype html><title>Laptops &amp; more</title><script>alert(1)</script><template>Later</template><nav>Home</nav>
    <h1>Order</h1><p>Ask <b>the</b> desk<ul><li>one<li>two<ul><li>three</ul></ul>
    <table><tr><th>Model<th>Price<tr><td>A<td></td></table><pre>x
  y</pre>`
  expect(await passagesOf('a.html', html)).toEqual([
    ['Laptops & more > Order', 'Ask the desk\n\n- one\n- two\n- three\n\nModel | Price\nA | \n\nx\n  y'],
  ])
})

const PAGE = `BT /F1 24 Tf 72 700 Td (Parental leave) Tj /F1 12 Tf 0 -30 Td (Everybody has twelve, with-) Tj
  0 -14 Td (out a reason.) Tj 0 -40 Td (Second paragraph.) Tj ET`

test('PDF has lines, paragraphs and headings, as far as their places tell', async () => {
  const passages = [['Parental leave', 'Everybody has twelve, without a reason.\n\nSecond paragraph.']]
  expect(await passagesOf('a.pdf', makePdf(PAGE))).toEqual(passages)
  const deflated = makePdf(deflateSync(PAGE), { filter: '/Filter /FlateDecode' })
  expect(await passagesOf('a.pdf', deflated)).toEqual(passages)
})

test('DOCX has headings in whatever language, lists, tables, and nothing that was deleted', async () => {
  const paragraph = (text: string, properties = '') =>
    `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`
  const row = (...cells: string[]) =>
    `<w:tr>${cells.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr>`
  const body = [
    paragraph('Contract', '<w:pStyle w:val="Titel"/>'),
    paragraph('Term', '<w:pStyle w:val="berschrift1"/>'),
    `<w:p><w:r><w:t>Two </w:t></w:r><w:del><w:r><w:t>ten </w:t></w:r></w:del><w:r><w:t>years &amp; a day.</w:t></w:r></w:p>`,
    paragraph('one', '<w:numPr/>'),
    paragraph('two', '<w:numPr/>'),
    `<w:tbl>${row('Name', 'Fee')}${row('Ada', '10')}</w:tbl>`,
  ]
  expect(await passagesOf('a.docx', makeDocx(body.join('')))).toEqual([
    ['Contract > Term', 'Two years & a day.\n\n- one\n- two\n\nName | Fee\nAda | 10'],
  ])
})

const ENCRYPT = `/Encrypt << /Filter /Standard /V 1 /R 2 /O (${'0'.repeat(32)}) /U (${'0'.repeat(32)}) /P -4 >> /ID [(a) (b)]`

describe('a file that is', () => {
  const cases: [string, string, string | Uint8Array, RegExp][] = [
    ['not UTF-8', 'a.txt', new Uint8Array([0x41, 0xff, 0x42]), /not UTF-8/],
    ['binary', 'a.txt', 'a\0b', /NUL/],
    ['empty but for blanks', 'a.md', ' \n\n\t\n', /no text/],
    ['of another kind', 'a.exe', 'MZ', /not read/],
    ['longer than anybody reads', 'a.txt', 'word '.repeat(1_000_000), /more text/],
    ['nested without an end', 'a.html', '<div>'.repeat(100_000), /nested too deeply/],
    ['an encrypted PDF', 'a.pdf', makePdf(PAGE, { trailer: ENCRYPT }), /password/],
    ['half a PDF', 'a.pdf', makePdf(PAGE).subarray(0, 200), /broken/],
    ['no PDF', 'a.pdf', 'not one', /broken/],
    ['a PDF of itself', 'a.pdf', makePdf(PAGE).toString('latin1').replace('[3 0 R ]', '[2 0 R ]'), /broken/],
    ['a PDF without text', 'a.pdf', makePdf('0 0 m 9 9 l S'), /scanned/],
    ['a PDF of too many pages', 'a.pdf', makePdf(PAGE, { pages: 2_001 }), /pages/],
    ['no DOCX', 'a.docx', 'PK', /broken/],
    ['half a DOCX', 'a.docx', makeDocx('<w:p/>').subarray(40), /broken/],
    ['another archive', 'a.docx', makeZip({ 'a.txt': 'a' }), /no DOCX/],
    ['an encrypted DOCX', 'a.docx', makeZip({ 'word/document.xml': 'x' }, 1), /password/],
    ['a zip bomb', 'a.docx', makeZip({ 'word/document.xml': Buffer.alloc(80_000_000) }), /too large/],
    ['a DOCX nested without an end', 'a.docx', makeDocx('<w:p>'.repeat(10_000)), /nested too deeply/],
  ]
  test.each(cases)('%s costs that file, with a sentence', async (_, path, content, problem) => {
    expect(await read(path, content)).toEqual({ problem: expect.stringMatching(problem) })
  })

  test.each([
    ['an open bracket a hundred thousand times', 'a.md', '['.repeat(100_000)],
    ['stars', 'a.md', '*a '.repeat(100_000)],
    ['comments that do not end', 'a.md', 'x <!-- '.repeat(50_000)],
    ['one word', 'a.txt', 'x'.repeat(500_000)],
    ['without blanks', 'a.txt', '語'.repeat(100_000)],
    ['UTF-16', 'a.txt', Buffer.from('\uFEFFGrüße', 'utf16le')],
  ])('%s is read', async (_, path, content) => {
    expect(await read(path, content)).toHaveProperty('passages')
  })
})

test.runIf(inject('everyCase'))(
  'a file that takes too long or too much memory is given up, and the next one is read',
  async () => {
    const slow = createDocumentReader({ cpuLimitMs: 1 })
    const small = createDocumentReader({ heapMib: 24 })
    const long = 'A sentence about something. '.repeat(100_000)
    try {
      expect(await slow.readDocument('org', { path: 'a.txt', content: Buffer.from(long) })).toEqual({
        problem: 'It takes too long to read.',
      })
      const many = '<p>word</p>'.repeat(400_000)
      expect(await small.readDocument('org', { path: 'a.html', content: Buffer.from(many) })).toEqual({
        problem: 'It takes more memory to read than there is for one.',
      })
      expect(await small.readDocument('org', { path: 'a.txt', content: Buffer.from('fine') })).toHaveProperty(
        'passages',
      )
    } finally {
      await slow.close()
      await small.close()
    }
  },
)

test('an organization whose files take long does not delay another one', async () => {
  const order: string[] = []
  const reading = async (orgId: string, text: string) => {
    await reader.readDocument(orgId, { path: 'a.txt', content: Buffer.from(text) })
    order.push(orgId)
  }
  const long = 'A sentence about something. '.repeat(30_000)
  await Promise.all([
    ...Array.from({ length: 3 }, () => reading('slow', long)),
    ...Array.from({ length: 8 }, () => reading('quick', 'fine')),
  ])
  // By number they would take turns; a machine that stalls once may let the second one in before the last of the quick ones.
  expect(order.indexOf('slow', 1)).toBeGreaterThan(4)
})

// It reads /proc.
test.skipIf(process.platform !== 'linux')(
  'a file is read again when the system ends the process for want of memory of others',
  async () => {
    const own = createDocumentReader()
    const childrenOf = () =>
      new Set(readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').match(/\d+/g))
    try {
      const before = childrenOf()
      await own.readDocument('org', { path: 'a.txt', content: Buffer.from('first') })
      const [pid] = [...childrenOf()].filter((one) => !before.has(one))
      const content = Buffer.from('A sentence about something. '.repeat(20_000))
      const reading = own.readDocument('org', { path: 'b.txt', content })
      await setImmediate()
      process.kill(Number(pid), 'SIGKILL')
      expect(await reading).toHaveProperty('passages')
    } finally {
      await own.close()
    }
  },
)

describe.runIf(inject('everyCase'))('a table of one large allocation', () => {
  const strings = () => `<sst><si><t>€${'a'.repeat(120 * 1024 * 1024)}</t></si></sst>`
  const huge = 31_000_000
  test.each([
    [
      'more values than rows',
      'parquet',
      () => makeParquetPage(huge, { rows: 1, isList: false }),
      /^It is broken/,
    ],
    [
      'rows without an end',
      'parquet',
      () => makeParquetPage(huge, { rows: huge, isList: false }),
      /^It has more text/,
    ],
    // As many as it says: nothing but its process knows that they are too many.
    [
      'a long list',
      'parquet',
      () => makeParquetPage(huge, { rows: 1, isList: true }),
      /^It takes more memory/,
    ],
    [
      'one text',
      'xlsx',
      () => makeXlsx({ S: [['id'], ['a']] }, { strings: strings() }),
      /^It has a cell with more text/,
    ],
  ] as const)('%s costs that file, and the next one is read', async (_, format, make, problem) => {
    expect(await reader.readTable('org', { format, content: make() })).toEqual({
      problem: expect.stringMatching(problem),
    })
    const next = await reader.readTable('other', {
      format: 'parquet',
      content: makeParquetPage(2, { rows: 2, isList: false }),
    })
    expect(next).toMatchObject({ headers: ['a'], problemCount: 0 })
  })
})

test('a row that is too long is told with its line, and those behind it are read', async () => {
  const content = makeXlsx({ S: [['id'], ['a'], ['x'.repeat(300_000)], ['b']] })
  const read = await reader.readTable('org', { format: 'xlsx', content })
  expect(read).toMatchObject({ problems: ['line 3: the row is longer than 256 KiB'], problemCount: 1 })
  expect('rows' in read && Buffer.from(read.rows).toString()).toBe('\n{"id":"a"}\n\n{"id":"b"}\n')
})
