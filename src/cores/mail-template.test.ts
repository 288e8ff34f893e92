import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { composeMail, type MailContent } from './mail-template.ts'

const URL_OF_OURS = 'https://app.test/console?a=1&b=2'
const mail = (hostile: string): MailContent => ({
  subject: hostile,
  heading: hostile,
  parts: [
    { text: hostile },
    { quote: hostile },
    { button: hostile, url: URL_OF_OURS },
    { item: hostile, about: [hostile], url: URL_OF_OURS },
  ],
  footer: hostile,
  footerLink: { label: hostile, url: URL_OF_OURS },
})

const hrefs = (html: string) => [...html.matchAll(/\shref="([^"]*)"/g)].map(([, url]) => url)

test('whatever it says, the elements and the addresses are ours', () => {
  const shape = (html: string) => html.replaceAll(/>[^<]*</g, '><')
  const expected = shape(composeMail(mail('x')).html)
  const hostile = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      '</title><script>alert(1)</script>',
      '"><a href="https://evil.test">x</a>',
      "' onmouseover='x",
      '</style><style>*{}',
      '<!--',
      '&lt;b&gt;',
    ),
  )
  fc.assert(
    fc.property(hostile, (text) => {
      const { html } = composeMail(mail(text))
      expect(shape(html)).toBe(expected)
      expect(new Set(hrefs(html))).toEqual(new Set(['https://app.test/console?a=1&amp;b=2']))
    }),
    { numRuns: 200 },
  )
})

test('only pages are linked', () => {
  const script = { ...mail('x'), parts: [{ button: 'x', url: 'javascript:alert(1)' }] }
  expect(() => composeMail(script)).toThrow('links to pages only')
})

test('nothing is fetched when it is opened', () => {
  const { html } = composeMail(mail('x'))
  expect(html).not.toMatch(
    /<(img|link|script|iframe|object|video|source)\b|\ssrc=|url\(|@import|background=/i,
  )
})

test('the text says everything that the page says', () => {
  const { text } = composeMail({
    subject: 's',
    heading: 'Heading',
    parts: [
      { text: 'One' },
      { quote: 'Two' },
      { button: 'Do it', url: 'https://a.test/' },
      { item: 'Three', about: ['Four', 'Five'], url: 'https://b.test/' },
    ],
    footer: 'Why',
    footerLink: { label: 'Unsubscribe', url: 'https://c.test/' },
  })
  expect(text).toBe(
    [
      'Heading',
      'One',
      '> Two',
      'https://a.test/',
      'Three\nFour\nFive\nhttps://b.test/',
      'Why\nUnsubscribe: https://c.test/',
    ].join('\n\n'),
  )
})

test('its colors are the console’s, in light and in dark', () => {
  const style = readFileSync(new URL('../pages/assets/style.css', import.meta.url), 'utf8')
  const pairs = [...style.matchAll(/light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)]
  const known = new Set(pairs.flatMap(([, light, dark]) => [light, dark]))
  const used = new Set(composeMail(mail('x')).html.match(/#[0-9a-f]{6}/g))
  expect([...used].filter((color) => !known.has(color))).toEqual([])
  expect(used.size).toBeGreaterThanOrEqual(14)
})
