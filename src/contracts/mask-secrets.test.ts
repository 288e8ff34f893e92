import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { countBacktracks } from '../../test/support/count-backtracks.ts'
import { countSteps } from '../../test/support/count-steps.ts'
import { maskSecrets } from './mask-secrets.ts'

/** What must not be in the text any more is behind the arrow. None of them is or was anybody's. */
const KEY = 'Zk3pQ9xV7nB2mL5tR8wY'
const SECRETS: readonly (readonly [shape: string, text: string, secret: string])[] = [
  ['JSON', '{"error":"bad","access_token":"abc def"}', 'abc def'],
  ['JSON in JSON', String.raw`{"body":"{\"password\":\"hunter2\"}"}`, 'hunter2'],
  ['a form', 'password=hunter2&next=1', 'hunter2'],
  ['YAML', 'client_secret: hunter2', 'hunter2'],
  ['a setting', 'PGPASSWORD=hunter2 psql', 'hunter2'],
  ['an option', 'run --password hunter2 --now', 'hunter2'],
  ['a Ruby hash', '"api_key"=>"hunter2"', 'hunter2'],
  ['a bearer', 'sent with Bearer abcdefgh12345678', 'abcdefgh12345678'],
  ['basic authorization', 'Authorization: Basic dXNlcjpodW50ZXIy', 'dXNlcjpodW50ZXIy'],
  ['an authorization without digits', 'authorization: token abcdefghij', 'abcdefghij'],
  ['cookies', 'Cookie: a=1; sid=hunter2; b=2', 'hunter2'],
  ['a cookie that is set', 'set-cookie: sid=hunter2; Path=/', 'hunter2'],
  ['a password in an address', 'cannot reach postgres://ada:hunter2@db.example/x', 'hunter2'],
  ['a query', 'GET https://hooks.example/in?key=hunter2&x=2 200', 'hunter2'],
  ['a hook of a chat service', `POST https://hooks.chat.example/services/T0A/B0B/${KEY}`, KEY],
  ['a JSON Web Token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln is a token', 'eyJ'],
  ['a private key', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', 'MIIE'],
  ['a private key that is cut', String.raw`"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB`, 'MIIEpAIB'],
  ['of a chat service', 'use xoxb-1234567890-abc here', 'xoxb'],
  ['of a code host', `ghp_${KEY} and github_pat_${KEY} and glpat-${KEY}`, KEY],
  ['of a payment service', `sk_live_${KEY}`, KEY],
  ['of a model provider', `key sk-proj-${KEY}`, KEY],
  ['of a package registry', `//registry.example/:_authToken=npm_${KEY}`, KEY],
  ['of a cloud', 'AKIAIOSFODNN7EXAMPLE', 'AKIA'],
  ['the secret half of it', 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'K7MDENG'],
  ['of a mail service', `SG.${KEY}.${KEY}`, KEY],
  ['of a chat bot', `bot 123456789:AA${KEY}${KEY}`, KEY],
  ['of ours', `svc_${KEY} and svca_${KEY} and whsec_${KEY}`, KEY],
  ['an account key', `AccountKey=${KEY}==;Endpoint=x`, KEY],
  ['an email address', 'write to ada@northwind.example', 'ada'],
  ['long and random', `got ${KEY}${KEY}`, KEY],
  ['a quote in the value', String.raw`{"password":"a\"bcdef"}`, 'bcdef'],
  ['a quote in the value of JSON in JSON', String.raw`{"body":"{\"password\":\"a\\\"bcdef\"}"}`, 'bcdef'],
  ['a backslash before the end', String.raw`{"password":"a\\","secret":"bcdef"}`, 'bcdef'],
  ['a quote in an option', String.raw`run --password "a\"bcdef" --now`, 'bcdef'],
  ['an object', '{"password":{"value":"hunter2"}}', 'hunter2'],
  ['an authorization that is an object', '{"authorization":{"scheme":"x","value":"hunter2"}}', 'hunter2'],
  ['an authorization in quotes', '{"authorization":"Basic abc hunter2"}', 'hunter2'],
  ['an authorization in a command', 'curl -H "Authorization: Bearer hunter2" x', 'hunter2'],
  ['objects in an object', '{"credentials":{"a":{"b":1},"c":"hunter2"},"d":2}', 'hunter2'],
  ['objects in objects in an object', '{"password":{"a":{"b":{"c":{"d":"hunter2"}}}},"e":2}', 'hunter2'],
  ['a bracket in quotes', '{"password":{"a":"}","b":"hunter2"}}', 'hunter2'],
  [
    'objects in JSON in JSON',
    String.raw`{"body":"{\"password\":{\"a\":{\"b\":[{\"c\":\"hunter2\"}]}}}"}`,
    'hunter2',
  ],
  ['an object that was cut', '{"password":{"a":{"b":1},"c":"hunter2', 'hunter2'],
  ['a list', '{"tokens":["hunter2","x"]}', 'hunter2'],
  ['a list in JSON in JSON', String.raw`{"body":"{\"tokens\":[\"hunter2\"]}"}`, 'hunter2'],
  ['a password with a slash', 'postgres://ada:hun/ter2@db.example/x', 'ter2'],
  ['a password with an at', 'postgres://ada:hun@ter2@db.example/x', 'ter2'],
  ['an address in an address', 'via https://proxy.example/postgres://ada:hunter2@db.example', 'hunter2'],
  [
    'a private key with headers',
    '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\nMIIE\n-----END RSA PRIVATE KEY-----',
    'MIIE',
  ],
  ['a web token behind a hyphen', 'session-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'eyJ'],
  ['a setting that ends with PASS', 'SMTP_PASS=hunter2 DB-PASS: hunter2', 'hunter2'],
  ['a signed address without its scheme', 'PUT /blob/a.txt?se=2026&sig=hunter2%3D&sp=r', 'hunter2'],
  ['a passphrase in a sentence', 'her passphrase is correct-horse battery staple', 'battery'],
  ['a password in a sentence', 'the password is "hunter2 and more"', 'hunter2'],
  ['a card', 'paid with 4111 1111 1111 1111 today', '1111'],
  ['a card without blanks', '{"pan":"5555555555554444"}', '5555'],
  ['a card of fifteen digits', 'card 3782-822463-10005 declined', '822463'],
  ['a bank account', 'to DE89 3704 0044 0532 0130 00 until Friday', '3704'],
  ['a bank account without blanks', 'iban=GB82WEST12345698765432', 'WEST'],
  ['hex that is no digest', 'got 0123456789abcdef0123456789abcdef0123456789abcdef', '0123'],
]

test.each(SECRETS)('%s', (_shape, text, secret) => {
  const masked = maskSecrets(text)
  expect(masked).not.toContain(secret)
  expect(masked).toContain('[hidden]')
})

test.each([
  ['{"error":"bad","access_token":"abc def"}', '{"error":"bad","access_token":[hidden]}'],
  ['password=hunter2&next=1', 'password=[hidden]&next=1'],
  ['X-Svc-Signature: v1=0a1b', 'X-Svc-Signature: [hidden]'],
  ['Authorization: Bearer abcdefgh.ijkl', 'Authorization: [hidden]'],
  ['postgres://ada:hunter2@db.example/x', 'postgres://[hidden]@db.example/x'],
  [String.raw`{"msg":"x","password":"a\"b","n":1}`, '{"msg":"x","password":[hidden],"n":1}'],
  [String.raw`{\"password\":\"a\\\"b\",\"n\":1}`, String.raw`{\"password\":[hidden],\"n\":1}`],
  ['{"tokens":["a","b"],"n":1}', '{"tokens":[hidden],"n":1}'],
  [
    '[{"password":{"a":{"b":{"c":1}}}},["token",{"secret":[[["x"]]]}],2]',
    '[{"password":[hidden]},["token",{"secret":[hidden]}],2]',
  ],
  ['secret=[a] next secret={b}c, d', 'secret=[hidden] next secret=[hidden], d'],
  ['postgres://ada:hun@ter2@db.example/x', 'postgres://[hidden]@db.example/x'],
  ['-----BEGIN A KEY-----\na-b\n-----END A KEY-----\nnext', '[hidden]\nnext'],
  ['see https://hooks.example/in?key=1&x=2 now', 'see https://hooks.example/in?[hidden] now'],
])('of %s the rest stays', (text, masked) => expect(maskSecrets(text)).toBe(masked))

test.each([
  ['prose', 'Internal server error'],
  ['a UUID', 'request 123e4567-e89b-42d3-a456-426614174000 failed'],
  ['an MD5 or the id of a trace', 'trace 4bf92f3577b34da6a3ce929d0e0e4736'],
  ['traceparent', 'traceparent 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ['a commit', 'built 9fceb02d0ae598e95dc970b74767f19372d61af8'],
  ['a SHA-256', 'image sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['an id of ours', 'unknown delivery dlv_0mwhkcyh5nlh1pqqssy5gj19q'],
  ['a ULID', 'job 01ARZ3NDEKTSV4RRFFQ69G5FAV done'],
  ['a long name', 'an-ordinary-name-that-is-rather-long-and-has-no-digits'],
  ['a pod', 'pod payment-service-frontend-7d4b9c6f5d-x2x7z restarted'],
  ['a path', 'at pay (/srv/app/releases/2026-11-15/src/handlers/payments-v2/charge.ts:10:5)'],
  ['a class in a path', 'src/main/java/com/example/orders/OrderServiceV2Implementation.java:42'],
  ['a time', '2026-11-15T03:00:00.123456789+01:00 started'],
  ['a version', 'installed lodash@4.17.21 and @scope/name@1.0.0'],
  ['an address without a query', 'GET https://shop.example/orders/17 200'],
  ['a port and a scope in a path', 'GET http://registry.example:4873/@scope/name 200'],
  ['a network address in an address', 'GET http://[::1]:3000/users/@me 200'],
  ['a network address', 'listening on [2001:db8:85a3::8a2e:370:7334]:443 and 10.0.0.7:5432'],
  ['a count of tokens', '{"total_tokens": 512, "max_tokens": 4096}'],
  ['words about secrets', 'the token has expired; password reset was requested, the secret is gone'],
  ['words about tokens', 'token validation failed, basic authentication required'],
  ['a test that passed', 'tests_passed: 12, PASS src/a.test.ts'],
  ['words about a passphrase', 'the passphrase is required; your password is too short'],
  ['a time in microseconds', 'at 1763400000123456 and 1763400000123456789'],
  ['a number that only looks like a card', 'order 4111 1111 1111 1112'],
  ['an account whose digits do not check', 'to DE88 3704 0044 0532 0130 00'],
  ['a significant word', 'design=1&config=2'],
  ['a metric', 'http_request_duration_seconds_bucket_le_0_25 17'],
])('%s stays as it is', (_shape, text) => expect(maskSecrets(text)).toBe(text))

test('of ordinary logs and prose at most 2 % of the lines are touched', () => {
  const lines = globSync(['test/seeded-apps/**/*.{ndjson,log,txt}', 'docs/*.md'])
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => line.trim() !== '')
  expect(lines.length).toBeGreaterThan(4_000)
  const touched = lines.filter((line) => maskSecrets(line) !== line)
  expect(touched.length / lines.length).toBeLessThanOrEqual(0.02)
})

test('hides a secret that is known, however it is written', () => {
  const url = 'https://hooks.example.com/services/T1/B2?room=7'
  for (const written of [url, JSON.stringify({ url }), url.replaceAll('/', '\\/'), encodeURIComponent(url)]) {
    expect(maskSecrets(`you sent ${written}`, [url])).not.toMatch(/T1|B2|room/)
  }
  expect(maskSecrets('POST /services/T1/B2?room=7 failed', [url])).toBe('POST [hidden] failed')
  expect(maskSecrets('POST /services/T1/B2 failed', [url])).toBe('POST [hidden] failed')
})

const PARTS = [
  'token',
  'a://',
  'a://a',
  '://a:b/',
  '-----BEGIN A-----',
  'a.',
  'a',
  'a@a.',
  'eyJ',
  'eyJ-',
  'eyJ-a.',
  'eyJaaaaaaaa.',
  '":"',
  ' '.repeat(9),
  '-',
  '--a',
  '--token',
  'cookie:',
  'token="',
  String.raw`token="\ `,
  String.raw`token=\"`,
  'token={',
  'token=[{',
  'token={}',
  'token={"',
  'token=[[]',
  'secret.',
  'A1',
  'a1/',
  '://a/services/',
  'sk-',
  '4111 ',
  '4',
  'DE89 ',
  'DE89',
  'password is ',
  '&sig=',
  'a'.repeat(31) + ' ',
]
/** With what makes every rule look at it, before and behind. */
const textsOf = (part: string, length: number): string[] => {
  const line = part.repeat(Math.ceil(length / part.length))
  return [line, `token eyJ @ :// sig= ${line}`, `${line} token eyJ @ :// 1234 1234`]
}
const LENGTH = 256

test.each(PARTS)('is as much work for each character of a longer line of %j', (part) => {
  const work = (length: number) =>
    textsOf(part, length).map((text) => countBacktracks(() => void maskSecrets(text)))
  const [short, long] = [work(LENGTH), work(4 * LENGTH)]
  // Where each start is tried anew, it would be sixteen times as much.
  for (const [at, most] of short.entries()) expect(long[at]).toBeLessThan(2 * 4 * most)
})

// At once: V8 takes longer to begin and to end the counting than all of them.
test('nor do the functions do more than a few things for each character', async () => {
  const texts = PARTS.flatMap((part) => textsOf(part, 4 * LENGTH))
  const steps = await countSteps(['src/contracts/mask-secrets.ts'], () => {
    for (const text of texts) maskSecrets(text)
  })
  expect(steps).toBeLessThan(4 * texts.join('').length)
})
