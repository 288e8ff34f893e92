import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readReturnTo, withCode, writeReturnTo } from './return-to.ts'

const CONSOLE = new URL('http://localhost:4000')
const SHOP = new URL('https://shop.acme.example/app')
const BASES = [CONSOLE, SHOP]

const read = (return_to: string, more = {}) => readReturnTo({ return_to, ...more }, BASES)

/** Pieces from which people build addresses that look like ours. */
const PIECES = [
  'http:',
  'https:',
  'HTTP:',
  'javascript:',
  'data:',
  'blob:',
  'file:',
  'ftp:',
  'ws:',
  'view-source:',
  '/',
  '//',
  '\\',
  '\\\\',
  ':',
  '@',
  '?',
  '#',
  '.',
  '..',
  '%',
  ';',
  '&',
  '=',
  ' ',
  '\t',
  '\n',
  '\r',
  '\0',
  'localhost',
  'localhost:4000',
  'shop.acme.example',
  'evil.test',
  '127.0.0.1',
  '[::1]',
  'xn--e1awd7f.test',
  'app',
  'apple',
  'console',
  '4000',
  '4001',
  '443',
  '%2e%2e',
  '%2f',
  '%5c',
  '%09',
  '%00',
  'ｌocalhost',
  '。',
  '⁄',
  'http://localhost:4000',
  'https://shop.acme.example/app',
  'code=',
  'state=',
]
const address = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc
    .tuple(
      fc.constantFrom(...BASES.map(({ href }) => href)),
      fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }),
    )
    .map(([base, pieces]) => base + pieces.join('')),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.string(),
)

const segment = fc
  .string({ minLength: 1, maxLength: 12 })
  .map(encodeURIComponent)
  .filter((text) => !/^\.{1,2}$/.test(text))

describe('an address that is taken', () => {
  test('leads to a base of ours, whatever it was built from', () => {
    fc.assert(
      fc.property(address, (text) => {
        const found = read(text)
        if (!found) return
        // Where a browser ends up that reads the same text on one of our pages.
        const there = new URL(withCode(found, 'the-code'), CONSOLE)
        const base = BASES.find(({ host, protocol }) => host === there.host && protocol === there.protocol)
        expect(base).toBeDefined()
        expect(segmentsOf(there).slice(0, segmentsOf(base!).length)).toEqual(segmentsOf(base!))
        expect([there.username, there.password, there.hash]).toEqual(['', '', ''])
        expect(there.href.split('?')[0]).toBe(new URL(text).href.split(/[?#]/)[0])
      }),
      { numRuns: 5000 },
    )
  })

  const segmentsOf = ({ pathname }: URL) =>
    pathname
      .split('/')
      .slice(1)
      .filter((part, at, all) => part || at < all.length - 1)

  test('carries this code and this state, once each, and keeps what else it asked', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string({ maxLength: 50 }), (code, state, other) => {
        const asked = new URL('https://shop.acme.example/app/done')
        asked.search = String(
          new URLSearchParams([
            ['code', 'planted'],
            ['code', 'twice'],
            ['state', 'planted'],
            ['other', other],
          ]),
        )
        const there = new URL(withCode(read(asked.href, { state })!, code))
        const { searchParams } = there
        expect([searchParams.getAll('code'), searchParams.getAll('state')]).toEqual([
          [wellFormed(code)],
          [wellFormed(state)],
        ])
        expect(searchParams.get('other')).toBe(wellFormed(other))
      }),
    )
  })

  test('is any address below a base, and survives the walk through a form', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...BASES),
        fc.array(segment, { maxLength: 4 }),
        fc.string({ maxLength: 50 }),
        (base, path, state) => {
          const url = new URL(base)
          url.pathname = [url.pathname.replace(/\/$/, ''), ...path].join('/')
          const found = read(url.href, { state, code_challenge: 'c'.repeat(43) })
          expect(found).toEqual({ url, state, codeChallenge: 'c'.repeat(43) })
          expect(readReturnTo(writeReturnTo(found!), BASES)).toEqual(found)
        },
      ),
    )
  })

  const wellFormed = (text: string) => text.toWellFormed()
})

test.each([
  'http://localhost:4000',
  'http://localhost:4000/',
  'http://LOCALHOST:4000/console',
  'http://localhost:4000/console?x=1&y=2',
  'https://shop.acme.example/app',
  'https://shop.acme.example:443/app/deeper/still',
])('%s is one of ours', (address) => {
  expect(read(address)?.url.href).toBe(new URL(address).href)
})

test.each([
  ['another host', 'https://evil.test/'],
  ['no scheme', '//evil.test/'],
  ['a path', '/console'],
  ['backslashes', String.raw`\\evil.test`],
  ['backslashes behind the scheme', String.raw`http:\\localhost:4000`],
  ['a backslash that ends the host', 'http://localhost:4000\\@evil.test/'],
  ['our host as a user', 'http://localhost:4000@evil.test/'],
  ['our host as user and password', 'http://localhost:4000:x@evil.test/'],
  ['a user at our host', 'http://somebody@localhost:4000/'],
  ['a password at our host', 'http://:secret@localhost:4000/'],
  ['our address as a prefix of the host', 'http://localhost:4000.evil.test/'],
  ['our host as a prefix of the host', 'http://localhost.evil.test:4000/'],
  ['our host as the end of the host', 'https://evil-shop.acme.example/app'],
  ['a host below ours', 'https://x.shop.acme.example/app'],
  ['another port', 'http://localhost:4001/'],
  ['a port that begins like ours', 'http://localhost:40001/'],
  ['a domain that begins like ours', 'https://shop.acme.example.evil.test/app'],
  ['no port', 'http://localhost/'],
  ['https instead of http', 'https://localhost:4000/'],
  ['http instead of https', 'http://shop.acme.example/app'],
  ['a trailing dot', 'http://localhost.:4000/'],
  ['another name of the machine', 'http://127.0.0.1:4000/'],
  ['a host written in Cyrillic', 'http://lосalhost:4000/'],
  ['the same in punycode', 'http://xn--lalhost-4fg:4000/'],
  ['a script', 'javascript:alert(1)//http://localhost:4000/'],
  ['a script with our path', 'javascript://localhost:4000/%0aalert(1)'],
  ['data', 'data:text/html,http://localhost:4000/'],
  ['a blob of ours', 'blob:http://localhost:4000/console'],
  ['a fragment', 'http://localhost:4000/#token'],
  ['a tab in the scheme', 'java\tscript:alert(1)'],
  ['a tab in the host', 'http://local\thost:4000/'],
  ['a line break', 'http://localhost:4000/\n'],
  ['a carriage return', 'http://localhost:4000/\r\nSet-Cookie:a=b'],
  ['a space in front', ' http://localhost:4000/'],
  ['a NUL', 'http://localhost:4000/\0'],
  ['a no-break space', 'http://localhost:4000/\u00a0'],
  ['a sibling of the path', 'https://shop.acme.example/apple'],
  ['the parent of the path', 'https://shop.acme.example/'],
  ['dots out of the path', 'https://shop.acme.example/app/../admin'],
  ['encoded dots out of the path', 'https://shop.acme.example/app/%2e%2E/admin'],
  ['our path in another case', 'https://shop.acme.example/APP'],
  ['nothing', ''],
  ['three thousand characters', `http://localhost:4000/${'x'.repeat(3000)}`],
])('%s is not one of ours', (_what, address) => {
  expect(read(address)).toBeUndefined()
})

/** All addresses of unusual schemes have the origin `null`: compared by origin they would all be the same place. */
test.each(['evil://done/here', 'javascript:/done/here', 'data:/done/here', 'myapp://elsewhere/here'])(
  'an application with a scheme of its own does not let in %s',
  (address) => {
    const base = new URL('myapp://done')
    expect(readReturnTo({ return_to: 'myapp://done/here' }, [base])).toBeDefined()
    expect(readReturnTo({ return_to: address }, [base])).toBeUndefined()
  },
)

test.each([
  ['a state without end', { state: 'x'.repeat(501) }],
  ['a challenge that is none', { code_challenge: 'short' }],
  ['a challenge in plain text', { code_challenge: `${'c'.repeat(42)}=` }],
])('%s is refused with the address', (_what, more) => {
  expect(read('http://localhost:4000/', more)).toBeUndefined()
})
