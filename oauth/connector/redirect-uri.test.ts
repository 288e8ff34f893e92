import fc from 'fast-check'
import { describe, expect, inject, test } from 'vitest'
import {
  isLoopbackRedirect,
  isRedirectOrigin,
  redirectHost,
  redirectUriMatches,
  redirectUriProblem,
} from './redirect-uri.ts'

const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'
const problem = (uri: string) => redirectUriProblem(uri, [CURSOR])

/** What real clients register. */
const HONEST = [
  'https://claude.ai/api/mcp/auth_callback',
  'https://chatgpt.com/connector/oauth/abc_123-x',
  'https://vscode.dev/redirect',
  'https://client.example:8443/cb?tenant=a&x=%20',
  'https://client.example:443/cb',
  'https://Client.Example/Callback',
  'https://xn--bcher-kva.example/cb',
  'https://client.example',
  'https://client.example?x=1',
  'https://client.example/@me/cb',
  'https://10.0.0.1/cb',
  'https://[2001:db8::1]/cb',
  'http://localhost/callback',
  'http://127.0.0.1/callback',
  'http://[::1]/callback',
  'http://127.0.0.1/',
  'http://127.0.0.1:33418/',
  'http://127.0.0.1:65535',
  'http://localhost:19876/mcp/oauth/callback?x=1',
  CURSOR,
]

describe('a client may register', () => {
  test.each(HONEST)('%s', (uri) => {
    expect(problem(uri)).toBeUndefined()
  })

  test.each([
    ['a wildcard', 'https://*.client.example/cb'],
    ['a wildcard', 'https://client.example/*'],
    ['a wildcard', 'http://localhost:*/cb'],
    ['a fragment', 'https://client.example/cb#x'],
    ['a fragment', 'https://client.example/cb#'],
    ['a fragment', `${CURSOR}#x`],
    ['user', 'https://me@client.example/cb'],
    ['user', 'https://client.example:443@evil.test/cb'],
    ['user', 'https://@client.example/cb'],
    ['character', 'https://client.example/\u202Ecb'],
    ['character', 'https://client.example/\u2066cb'],
    ['character', 'https://client.example/a\u200Bb'],
    ['character', 'https://client.example/a b'],
    ['character', 'https://client.example/a\r\nb'],
    ['character', 'https://client.example/a\0'],
    ['character', ' https://client.example/'],
    ['character', 'https://client.example\\@evil.test/'],
    ['character', 'https:\\\\client.example/'],
    ['character', 'https://bücher.example/cb'],
    ['character', 'https://client.example/<script>'],
    ['character', ''],
    ['absolute', '/cb'],
    ['absolute', '//client.example/cb'],
    ['absolute', 'client.example/cb'],
    ['absolute', 'https://'],
    ['absolute', 'https://client.example:99999/cb'],
    ['absolute', 'http://localhost:99999/cb'],
    ['unusual host', 'https:client.example'],
    ['unusual host', 'https:/client.example'],
    ['unusual host', 'https:///client.example'],
    ['unusual host', 'https://%63lient.example/cb'],
    ['unusual host', 'https://2130706433/cb'],
    ['unusual host', 'https://127.1/cb'],
    ['unusual host', 'https://client.example:/cb'],
    ['http on', 'http://client.example/cb'],
    ['http on', 'http://localhost.evil.test/cb'],
    ['http on', 'http://127.0.0.1.evil.test/cb'],
    ['http on', 'http://localhost@evil.test/cb'],
    ['http on', 'http://me@localhost/cb'],
    ['http on', 'http://localhost./cb'],
    ['http on', 'http://127.0.0.2/cb'],
    ['http on', 'http://127.1/cb'],
    ['http on', 'http://0.0.0.0/cb'],
    ['http on', 'http://[::]/cb'],
    ['http on', 'http://[::ffff:127.0.0.1]/cb'],
    ['http on', 'http:localhost/cb'],
    ['scheme', 'javascript:alert(1)'],
    ['scheme', 'JavaScript:alert(1)'],
    ['scheme', 'javascript://client.example/%0aalert(1)'],
    ['scheme', 'data:text/html,x'],
    ['scheme', 'vbscript:x'],
    ['scheme', 'file:///etc/passwd'],
    ['scheme', 'blob:https://client.example/x'],
    ['scheme', 'view-source:https://client.example/'],
    ['scheme', 'about:blank'],
    ['private-use', 'com.example.app:/cb'],
    ['private-use', 'cursor://anysphere.cursor-mcp/oauth/callback/'],
    ['private-use', 'cursor://anysphere.cursor-mcp/oauth/callback?x=1'],
    ['private-use', 'cursor://evil/oauth/callback'],
    ['private-use', 'CURSOR://anysphere.cursor-mcp/oauth/callback'],
    ['private-use', 'urn:ietf:wg:oauth:2.0:oob'],
    ['longer', `https://client.example/${'x'.repeat(2000)}`],
  ])('nothing with %s: %j', (word, uri) => {
    expect(problem(uri)).toContain(word)
  })

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'http://client.example/cb',
    'https://me@client.example/',
  ])('not %s, even when the operator lists it', (uri) => {
    expect(redirectUriProblem(uri, [uri])).toBeDefined()
  })

  const PIECES = [
    ...'/\\:@?#.%*[]。 \t\n\0\u202E\u200B'.split(''),
    ...'http: https: HTTP: javascript: cursor: blob: com.example: // .. %2f %40 %00 :80 :443 :99999'.split(
      ' ',
    ),
    ...'localhost 127.0.0.1 [::1] 127.1 client.example evil.test cb'.split(' '),
    ...'http://localhost http://127.0.0.1:8080 https://client.example/cb'.split(' '),
    CURSOR,
  ]
  const pieced = fc.array(fc.constantFrom(...PIECES), { maxLength: 7 }).map((pieces) => pieces.join(''))
  const anything = fc.oneof(
    pieced,
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.string(),
  )

  test('what is taken leads a browser to a host that was written plainly, by https unless it is this computer', () => {
    fc.assert(
      fc.property(anything, (uri) => {
        if (problem(uri) !== undefined || uri === CURSOR) return
        // As a browser reads it in a Location header on some page of ours.
        const there = new URL(uri, 'https://auth.example/oauth/authorize')
        expect(uri.toLowerCase()).toContain(`${there.protocol}//${there.host}`)
        expect([there.username, there.password, there.hash]).toEqual(['', '', ''])
        if (there.protocol !== 'https:') {
          expect(there.protocol).toBe('http:')
          expect(['localhost', '127.0.0.1', '[::1]']).toContain(there.hostname)
        }
        expect(redirectHost(uri)).toBe(there.host)
      }),
      { numRuns: inject('everyCase') ? 10_000 : 2_000 },
    )
  })

  test('whoever is told why not is not told it in their own words', () => {
    fc.assert(
      fc.property(anything, (uri) => {
        expect(problem(uri) ?? 'is fine').toMatch(/^(?:is|must|has|contains) [\w ,.:[\]-]+$/)
      }),
    )
  })
})

const host = fc.constantFrom('localhost', '127.0.0.1', '[::1]')
const port = fc.integer({ min: 1, max: 65_535 })
const rest = fc.constantFrom('', '/', '/cb', '/cb/', '/cb?x=1', '/CB', '?x=1')
const loopback = fc.tuple(host, fc.option(port), rest).map(([host, port, rest]) => ({
  host,
  port,
  rest,
  uri: `http://${host}${port === null ? '' : `:${port}`}${rest}`,
}))
const web = fc
  .tuple(fc.constantFrom(':1', ':8080', ''), rest)
  .map(([port, rest]) => `https://localhost${port}${rest}`)
const uri = fc.oneof(
  loopback.map(({ uri }) => uri),
  web,
  fc.constantFrom(...HONEST),
)
const mode = fc.constantFrom('portless', 'exact', 'any')

describe('a request may name', () => {
  test('each registered URI, byte for byte, in every mode', () => {
    fc.assert(
      fc.property(fc.array(uri, { minLength: 1 }), fc.nat(), mode, (registered, at, mode) => {
        expect(redirectUriMatches(registered, registered[at % registered.length]!, mode)).toBe(true)
      }),
    )
  })

  test('exact: nothing else', () => {
    fc.assert(
      fc.property(fc.array(uri), uri, (registered, value) => {
        expect(redirectUriMatches(registered, value, 'exact')).toBe(registered.includes(value))
      }),
    )
  })

  test('portless: also any port of a loopback URI that was registered without one', () => {
    fc.assert(
      fc.property(loopback, loopback, (known, asked) => {
        const otherwiseEqual = known.host === asked.host && known.rest === asked.rest
        expect(redirectUriMatches([known.uri], asked.uri, 'portless')).toBe(
          otherwiseEqual && (known.port === null || known.port === asked.port),
        )
      }),
      { numRuns: 2000 },
    )
  })

  test('any: also any port of a loopback URI', () => {
    fc.assert(
      fc.property(loopback, loopback, (known, asked) => {
        expect(redirectUriMatches([known.uri], asked.uri, 'any')).toBe(
          known.host === asked.host && known.rest === asked.rest,
        )
      }),
      { numRuns: 2000 },
    )
  })

  test('in no mode something that does not begin and end as a registered one does', () => {
    const noise = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('@evil.test', '/', '?', '#', ':1', '\n', '%2f'),
    )
    fc.assert(
      fc.property(uri, noise, fc.nat(), mode, (known, noise, at, mode) => {
        const cut = at % (known.length + 1)
        const value = known.slice(0, cut) + noise + known.slice(cut)
        if (!redirectUriMatches([known], value, mode)) return
        // Only a port can have come in between.
        expect(value.replace(/:\d+(?=[/?]|$)/, '')).toBe(known.replace(/:\d+(?=[/?]|$)/, ''))
        expect(known).toMatch(/^http:\/\/(localhost|127\.0\.0\.1|\[::1\])/)
        expect(new URL(value).hostname).toBe(new URL(known).hostname)
      }),
      { numRuns: inject('everyCase') ? 5_000 : 1_000 },
    )
  })

  test.each([
    ['another loopback host', 'http://localhost/cb', 'http://127.0.0.1:5000/cb'],
    ['a host that begins like it', 'http://localhost/cb', 'http://localhost.evil.test/cb'],
    ['a user that looks like a port', 'http://localhost/cb', 'http://localhost:5000@evil.test/cb'],
    ['a port that is none', 'http://localhost/cb', 'http://localhost:70000/cb'],
    ['an empty port', 'http://localhost/cb', 'http://localhost:/cb'],
    ['a longer path', 'http://localhost/cb', 'http://localhost:5000/cb/x'],
    ['another query', 'http://localhost/cb', 'http://localhost:5000/cb?x'],
    ['a fragment', 'http://localhost/cb', 'http://localhost:5000/cb#x'],
    ['a line break', 'http://localhost/cb', 'http://localhost:5000/cb\n'],
    ['another scheme', 'http://localhost/cb', 'https://localhost:5000/cb'],
    ['a web address with a port', 'https://client.example/cb', 'https://client.example:5000/cb'],
    ['plain http in the web', 'http://client.example/cb', 'http://client.example:5000/cb'],
    ['a private URI with more', CURSOR, `${CURSOR}?x`],
  ])('never %s', (_, known, asked) => {
    expect(redirectUriMatches([known], asked, 'portless')).toBe(false)
    expect(redirectUriMatches([known], asked, 'any')).toBe(false)
  })

  test('what today’s clients call back on', () => {
    const claudeCode = ['http://localhost/callback', 'http://127.0.0.1/callback']
    expect(redirectUriMatches(claudeCode, 'http://localhost:54321/callback', 'portless')).toBe(true)
    expect(redirectUriMatches(claudeCode, 'http://localhost:54321/callback', 'exact')).toBe(false)
    const fixedPort = ['http://127.0.0.1:8000/cb']
    expect(redirectUriMatches(fixedPort, 'http://127.0.0.1:54321/cb', 'portless')).toBe(false)
    expect(redirectUriMatches(fixedPort, 'http://127.0.0.1:54321/cb', 'any')).toBe(true)
  })
})

describe('a page in a browser is of the client', () => {
  test.each([
    ['where it sends people back to', 'https://app.example/cb', 'https://app.example', true],
    ['on another port', 'https://app.example/cb', 'https://app.example:8443', false],
    ['on another host', 'https://app.example/cb', 'https://app.example.evil.test', false],
    ['on this computer, on any port', 'http://localhost/cb', 'http://localhost:6274', true],
    ['on this computer, under another name', 'http://localhost/cb', 'http://127.0.0.1:6274', false],
    ['on this computer, with the port it has', 'http://localhost:6274/cb', 'http://localhost:6274', true],
    ['on this computer, with another one', 'http://localhost:6274/cb', 'http://localhost:5000', false],
    ['in a sandbox', CURSOR, 'null', false],
  ])('%s', (_, known, origin, expected) => {
    expect(isRedirectOrigin([known], origin, 'portless')).toBe(expected)
  })

  test('by its exact port, where that is required', () => {
    expect(isRedirectOrigin(['http://localhost/cb'], 'http://localhost:6274', 'exact')).toBe(false)
  })
})

describe('a person is shown', () => {
  test.each([
    ['https://claude.ai/api/mcp/auth_callback', 'claude.ai', false],
    ['https://Client.Example:8443/cb', 'client.example:8443', false],
    ['https://localhost.evil.test/cb', 'localhost.evil.test', false],
    ['https://127.evil.test/cb', '127.evil.test', false],
    ['http://localhost:5000/cb', 'localhost:5000', true],
    ['http://127.0.0.1/', '127.0.0.1', true],
    ['http://[::1]:5000/cb', '[::1]:5000', true],
    ['https://localhost/cb', 'localhost', true],
    ['https://127.8.8.8/cb', '127.8.8.8', true],
    ['https://app.localhost/cb', 'app.localhost', true],
    [CURSOR, 'cursor:', false],
    ['com.example.app:/cb', 'com.example.app:', false],
    ['x://localhost/cb', 'x:', false],
  ])('for %s: %s, on this computer: %s', (uri, host, isHere) => {
    expect([redirectHost(uri), isLoopbackRedirect(uri)]).toEqual([host, isHere])
  })
})
