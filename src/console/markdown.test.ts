import fc from 'fast-check'
import { html } from 'hono/html'
import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { markdown } from './markdown.ts'

const draw = (text: string): string =>
  (html`${markdown(text)}` as { toString(): string })
    .toString()
    .replace(/^<div class="written">([^]*)<\/div>$/, '$1')
    .trim()

describe('what is drawn', () => {
  test.each([
    ['a\nb\n\nc', '<p>a<br />b</p><p>c</p>'],
    ['**a** *b* `c_d`', '<p><strong>a</strong> <em>b</em> <code>c_d</code></p>'],
    ['read_this_name and 2 * 3 * 4', '<p>read_this_name and 2 * 3 * 4</p>'],
    [
      '- a\n- b\n  more\n\n1. c\n2) d',
      '<ul><li>a</li><li>b<br />more</li></ul><ol><li>c</li><li>d</li></ol>',
    ],
    ['# Big\ntext', '<p><strong>Big</strong></p><p>text</p>'],
    ['> a\n> b', '<blockquote>a<br />b</blockquote>'],
    [
      '[the docs](https://example.com/a?b=1&c=2)',
      '<p><a href="https://example.com/a?b=1&amp;c=2" rel="noopener nofollow">the docs</a> <span class="note">(example.com)</span></p>',
    ],
    [
      'see https://example.com/a.',
      '<p>see <a href="https://example.com/a" rel="noopener nofollow">https://example.com/a</a>.</p>',
    ],
    // Foreign letters that look the same, and encoded ones.
    [
      'https://b\u0430nk.example/x',
      '<p><a href="https://xn--bnk-6cd.example/x" rel="noopener nofollow">https://b\u0430nk.example/x</a> <span class="note">(xn--bnk-6cd.example)</span></p>',
    ],
    [
      'https://bank.example%2eevil.example/x',
      '<p><a href="https://bank.example.evil.example/x" rel="noopener nofollow">https://bank.example%2eevil.example/x</a> <span class="note">(bank.example.evil.example)</span></p>',
    ],
    // The host is that of the address, not of the words.
    [
      '[https://bank.example](https://xn--bnk-8na.example/x)',
      '<p><a href="https://xn--bnk-8na.example/x" rel="noopener nofollow">https://bank.example</a> <span class="note">(xn--bnk-8na.example)</span></p>',
    ],
  ])('%j', (text, drawn) => expect(draw(text)).toBe(drawn))

  test('code in fences is text, line by line, and a fence that is left open ends with the text', () => {
    expect(draw('```js\nif (a < b) **c**\n```\nafter')).toMatch(
      /<td class="code-text">if \(a &lt; b\) \*\*c\*\*<\/td>[^]*<p>after<\/p>$/,
    )
    expect(draw('```\n<b>')).toContain('&lt;b&gt;')
  })
})

describe('what stays as it was written', () => {
  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '![x](https://example.com/x.png)',
    '[x](javascript:alert(1))',
    '[x](data:text/html,x)',
    '[x](/console/members)',
    '[x](//example.com)',
    '[x](https://user:secret@example.com/)',
    '[x](https://)',
    '[x][y]',
    '**',
  ])('%s', (text) => {
    const drawn = draw(text)
    expect(drawn).not.toMatch(/<(?:script|img)|href="(?!https:\/\/example\.com\/x\.png")/)
  })

  test('a character that is not seen is shown by its code', () => {
    expect(draw('**a\u202Eb**')).toContain('U+202E')
  })
})

const TAGS = new Set('a blockquote br code div em li ol p span strong table tbody td tr ul'.split(' '))
const ATTRIBUTES = new Set(['href', 'rel', 'class', 'role', 'title', 'tabindex', 'aria-label'])

/** Tags and attributes that are not of the part that is drawn, and text that a reader sees. */
function readHtml(drawn: string) {
  const wrong: string[] = []
  let text = ''
  const parser = new Parser({
    onopentag(name, attributes) {
      if (!TAGS.has(name)) wrong.push(name)
      for (const [key, value] of Object.entries(attributes)) {
        if (!ATTRIBUTES.has(key)) wrong.push(`${name} ${key}`)
        if (key === 'href' && !/^https?:\/\/[^/@]+\//.test(value)) wrong.push(value)
      }
    },
    ontext: (part) => (text += part),
  })
  parser.end(drawn)
  return { wrong, text }
}

const PIECES = [
  '<script>', '</p>', '"', "'", '&', '`', '```', '*', '**', '[', ']', '(', ')', '](', 'https://a.example/', 'javascript:',
  '\n', '\n\n', '- ', '> ', '# ', '1. ', 'word', ' ', '\u202E', '\\', '&lt;', 'onerror=x',
] // prettier-ignore

test('whatever is written, only the safe part is drawn', () => {
  const texts = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 5 })), { maxLength: 40 })
  fc.assert(
    fc.property(texts, (pieces) => {
      expect(readHtml(draw(pieces.join(''))).wrong).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('no word is lost, wherever it stands', () => {
  const around = ['', '`', '**', '*', '[', '](', '- ', '> ', '# ', '1. ', '\n', '\n\n', ' ', '<b>', '\n```\n']
  const texts = fc.array(fc.constantFrom(...around), { maxLength: 20 })
  fc.assert(
    fc.property(texts, (pieces) => {
      const written = pieces.map((piece, at) => `${piece}word${at} `).join('')
      const { text } = readHtml(draw(written))
      expect(pieces.flatMap((_, at) => (text.includes(`word${at}`) ? [] : [at]))).toEqual([])
    }),
    { numRuns: 300 },
  )
})

/** Read by an expression that goes back and forth, it would take hours. */
test.each(['`', '*', '**', '[', '> ', '```', 'https://', '[a](https://', '[a]('])(
  'a long run of %s is read to its end',
  (piece) => {
    expect(draw(`${piece.repeat(20_000)} end`)).toContain('end')
  },
)
