/** What becomes of ordinary and of hostile files, in the thread that reads them. */
import { afterAll, describe, expect, test } from 'vitest'
import { createDocumentReader } from './index.ts'

const reader = createDocumentReader()
afterAll(() => reader.close())

const read = (path: string, content: string | Uint8Array) =>
  reader.readDocument('org', { path, content: Buffer.from(content) })
const passagesOf = async (path: string, content: string) => {
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
  const html = `<!doctype html><title>Laptops &amp; more</title><script>alert(1)</script><nav>Home</nav>
    <h1>Order</h1><p>Ask <b>the</b> desk<ul><li>one<li>two<ul><li>three</ul></ul>
    <table><tr><th>Model<th>Price<tr><td>A<td></td></table><pre>x
  y</pre>`
  expect(await passagesOf('a.html', html)).toEqual([
    ['Laptops & more > Order', 'Ask the desk\n\n- one\n- two\n- three\n\nModel | Price\nA | \n\nx\n  y'],
  ])
})

describe('a file that is', () => {
  const cases: [string, string, string | Uint8Array, RegExp][] = [
    ['not UTF-8', 'a.txt', new Uint8Array([0x41, 0xff, 0x42]), /not UTF-8/],
    ['binary', 'a.txt', 'a\0b', /NUL/],
    ['empty but for blanks', 'a.md', ' \n\n\t\n', /no text/],
    ['of another kind', 'a.exe', 'MZ', /not read/],
    ['longer than anybody reads', 'a.txt', 'word '.repeat(1_000_000), /more text/],
    ['nested without an end', 'a.html', '<div>'.repeat(100_000), /nested too deeply/],
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

test('a file that takes too long or too much memory is given up, and the next one is read', async () => {
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
})
