/** Files of all formats, made here: ordinary ones, each with words that no other has, and hostile ones. The same at every run. */
import { deflateSync } from 'node:zlib'
import { makeDocx, makePdf, makeZip } from './document-files.ts'

export type OrdinaryFile = {
  readonly path: string
  readonly content: string | Uint8Array
  /** Stands in it, and in no other. */
  readonly word: string
}
export type HostileFile = { readonly path: string; readonly content: string | Uint8Array }

/** Made up, so that no stemmer joins two of them. */
const WORDS = Array.from(
  { length: 60 },
  (_, at) => `zq${'abcdefghkm'[at % 10]}${'lmnprstvwx'[Math.floor(at / 10)]}ova`,
)

const sentence = (word: string): string => `The ${word} is kept in the cellar, behind the second door.`

const docxParagraph = (text: string, properties = ''): string =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`

type Make = (word: string) => string | Uint8Array

const ORDINARY: readonly (readonly [extension: string, make: Make])[] = [
  ['md', (word) => `# Title\n\n${sentence(word)}\n`],
  ['md', (word) => `Title\n=====\n\n${sentence(word)}\n`],
  ['md', (word) => `---\ntitle: Front\ntags: [a, b]\n---\n${sentence(word)}\n`],
  ['md', (word) => `## Lists\n\n- one\n- two\n  - ${word}\n1. first\n2. second\n`],
  ['md', (word) => `| a | b |\n|---|---|\n| 1 | ${word} |\n`],
  ['md', (word) => `Code:\n\n\`\`\`ts\nconst ${word} = 1\n\`\`\`\n`],
  ['md', (word) => `> Quoted ${word}\n> goes on\n`],
  ['md', (word) => `# A\r\n\r\n${sentence(word)}\r\n`],
  ['markdown', (word) => `# Deep\n\n## Deeper\n\n### Deepest\n\n${sentence(word)}`],
  ['md', (word) => `${'Filler of many words that say little. '.repeat(400)}\n\n${sentence(word)}`],
  ['md', (word) => `Ein Satz über ${word}, größer als üblich. 日本語の文章。 مرحبا 👩‍👩‍👧‍👦\n`],
  ['md', (word) => `<details><summary>More</summary>${word}</details>\n`],
  ['html', (word) => `<!doctype html><title>T</title><p>${sentence(word)}</p>`],
  ['htm', (word) => `<h1>Head</h1><div><p>${sentence(word)}`],
  ['html', (word) => `<ul><li>one<li>${word}</ul>`],
  ['html', (word) => `<table><tr><th>a<th>b<tr><td>1<td>${word}</table>`],
  ['html', (word) => `<pre>line\n  ${word}\n</pre>`],
  ['html', (word) => `<script>var x = 'no'</script><style>p{}</style><main>${sentence(word)}</main>`],
  ['html', (word) => `<p>&lt;b&gt; &amp; &#8212; ${word} &nbsp; &unknown;</p>`],
  ['html', (word) => `\uFEFF<p>${sentence(word)}</p>`],
  ['txt', (word) => sentence(word)],
  ['txt', (word) => `First.\n\nSecond.\n\n${sentence(word)}`],
  ['txt', (word) => Buffer.from(`\uFEFF${sentence(word)}`, 'utf16le')],
  ['txt', (word) => Buffer.from(`\uFEFF${sentence(word)}`)],
  ['txt', (word) => `${'x'.repeat(3_000)} ${word}`],
  ['txt', (word) => `${'語'.repeat(2_000)}。${word}。`],
  ['TXT', (word) => `Upper case: ${word}`],
  ['txt', (word) => `\tTabs\tand\u00a0blanks ${word}\n`],
  ['pdf', (word) => makePdf(`BT /F1 12 Tf 72 700 Td (${sentence(word)}) Tj ET`)],
  ['pdf', (word) => makePdf(`BT /F1 24 Tf 72 700 Td (Head) Tj /F1 12 Tf 0 -40 Td (${word} below) Tj ET`)],
  [
    'pdf',
    (word) =>
      makePdf(deflateSync(`BT /F1 12 Tf 72 700 Td (${sentence(word)}) Tj ET`), {
        filter: '/Filter /FlateDecode',
      }),
  ],
  ['pdf', (word) => makePdf(`BT /F1 12 Tf 72 700 Td (${word} on every page) Tj ET`, { pages: 20 })],
  ['pdf', (word) => makePdf(`BT /F1 12 Tf 72 700 Td (${word}) Tj 0 -14 Td (second line) Tj ET`)],
  ['PDF', (word) => makePdf(`BT /F1 9 Tf 10 10 Td (${word} at the foot) Tj ET`)],
  ['docx', (word) => makeDocx(docxParagraph(sentence(word)))],
  [
    'docx',
    (word) =>
      makeDocx(docxParagraph('Head', '<w:pStyle w:val="berschrift1"/>') + docxParagraph(sentence(word))),
  ],
  ['docx', (word) => makeDocx(docxParagraph('one', '<w:numPr/>') + docxParagraph(word, '<w:numPr/>'))],
  [
    'docx',
    (word) =>
      makeDocx(
        `<w:tbl><w:tr><w:tc>${docxParagraph('a')}</w:tc><w:tc>${docxParagraph(word)}</w:tc></w:tr></w:tbl>`,
      ),
  ],
  [
    'docx',
    (word) =>
      makeDocx(`<w:p><w:r><w:t>Kept ${word}</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>`),
  ],
  ['docx', (word) => makeDocx(docxParagraph('Many words. '.repeat(500)) + docxParagraph(sentence(word)))],
  ['docx', (word) => makeDocx(docxParagraph(`&lt;b&gt; ${word} &amp; more`))],
  [
    'docx',
    (word) =>
      makeZip({ 'word/document.xml': `<w:document><w:body>${docxParagraph(word)}</w:body></w:document>` }),
  ],
]

export const ordinaryFiles = (): OrdinaryFile[] =>
  ORDINARY.map(([extension, make], at) => {
    const word = WORDS[at]!
    return {
      path: `ordinary/${at % 3 === 0 ? 'deep/er/' : ''}file ${at}.${extension}`,
      content: make(word),
      word,
    }
  })

/** Always the same numbers. */
function* numbers(seed: number): Generator<number> {
  let state = seed
  for (;;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    yield state
  }
}

export function damaged(content: Uint8Array, seed: number): Buffer {
  const copy = Buffer.from(content)
  const random = numbers(seed)
  for (let at = 0; at < 40; at++) copy[random.next().value! % copy.length] = random.next().value! & 255
  return copy
}

export const noise = (length: number, seed: number): Buffer => {
  const random = numbers(seed)
  return Buffer.from(Array.from({ length }, () => random.next().value! & 255))
}

const ENCRYPT = `/Encrypt << /Filter /Standard /V 1 /R 2 /O (${'0'.repeat(32)}) /U (${'0'.repeat(32)}) /P -4 >> /ID [(a) (b)]`
const PAGE = 'BT /F1 12 Tf 72 700 Td (some text of a page that is long enough to be damaged) Tj ET'

/** `share` of their size: whole, some of them are thousands of passages. */
export function hostileFiles(share = 1): HostileFile[] {
  const many = (count: number): number => Math.ceil(count * share)
  const pdf = makePdf(PAGE)
  const docx = makeDocx(docxParagraph('some text that is long enough to be damaged somewhere'))
  const bomb = makeZip({ 'word/document.xml': Buffer.alloc(many(80_000_000), 'a') })
  const files: (readonly [name: string, content: string | Uint8Array])[] = [
    ['nul.txt', 'a\0b'],
    ['latin1.txt', Buffer.from('Grüße', 'latin1')],
    ['blank.md', ' \n\t\n'],
    ['endless.txt', 'word '.repeat(many(1_000_000))],
    ['one-word.txt', 'x'.repeat(many(4_000_000))],
    ['brackets.md', '['.repeat(many(300_000))],
    ['stars.md', '*a '.repeat(many(300_000))],
    ['underscores.md', '_'.repeat(many(300_000))],
    ['backticks.md', '`'.repeat(many(300_001))],
    ['comments.md', '<!-- '.repeat(many(100_000))],
    ['table.md', `${'|'.repeat(many(200_000))}\n${'|-'.repeat(many(100_000))}|\n`],
    ['headings.md', '# '.repeat(many(200_000))],
    ['links.md', '[a](b '.repeat(many(100_000))],
    ['front.md', `---\n${'a: &x [*x]\n'.repeat(many(20_000))}---\ntext`],
    ['billion.html', `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>${'&a;'.repeat(many(100_000))}`],
    ['nested.html', '<div>'.repeat(many(200_000))],
    ['tables.html', '<table><tr><td>'.repeat(many(60_000))],
    ['attributes.html', `<p ${'a=b '.repeat(many(200_000))}>text`],
    ['unclosed.html', `<p title="${'x'.repeat(many(1_000_000))}`],
    ['entities.html', '&'.repeat(many(500_000))],
    ['scripts.html', '<script>'.repeat(many(100_000))],
    ['encrypted.pdf', makePdf(PAGE, { trailer: ENCRYPT })],
    ['itself.pdf', pdf.toString('latin1').replace('[3 0 R ]', '[2 0 R ]')],
    ['scanned.pdf', makePdf('0 0 m 9 9 l S')],
    ['pages.pdf', makePdf(PAGE, { pages: 2_001 })],
    [
      'bomb.pdf',
      makePdf(deflateSync(Buffer.alloc(many(100_000_000), 'q ')), { filter: '/Filter /FlateDecode' }),
    ],
    [
      'layers.pdf',
      makePdf(deflateSync(deflateSync(Buffer.alloc(many(50_000_000)))), {
        filter: '/Filter [/FlateDecode /FlateDecode]',
      }),
    ],
    ['filter.pdf', makePdf(PAGE, { filter: '/Filter /NoSuchThing' })],
    ['text.pdf', 'this is text'],
    ['encrypted.docx', makeZip({ 'word/document.xml': 'x' }, 1)],
    ['bomb.docx', bomb],
    [
      'styles.docx',
      makeZip({ 'word/document.xml': '<w:p/>', 'word/styles.xml': Buffer.alloc(many(80_000_000), 'a') }),
    ],
    ['deep.docx', makeDocx('<w:p>'.repeat(many(50_000)))],
    ['names.docx', makeZip({ '../../word/document.xml': 'x', '/etc/passwd': 'y' })],
    [
      'entity.docx',
      makeDocx('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:p><w:r><w:t>&a;</w:t></w:r></w:p>'),
    ],
    ['empty.docx', makeZip({})],
    ['text.docx', 'PK but not a zip'],
    ['program.exe', 'MZ'],
    ['picture.png', noise(1_000, 1)],
    ...[100, 300, 500].map((length) => [`half-${length}.pdf`, pdf.subarray(0, length)] as const),
    ...[40, 120, 250].map((length) => [`half-${length}.docx`, docx.subarray(0, length)] as const),
    ...[1, 2, 3, 4, 5].map((seed) => [`damaged-${seed}.pdf`, damaged(pdf, seed)] as const),
    ...[1, 2, 3, 4, 5].map((seed) => [`damaged-${seed}.docx`, damaged(docx, seed)] as const),
    ...['md', 'html', 'txt', 'pdf', 'docx'].map(
      (kind, seed) => [`noise.${kind}`, noise(20_000, seed)] as const,
    ),
  ]
  return files.map(([name, content]) => ({ path: `hostile/${name}`, content }))
}
