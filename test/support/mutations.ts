/** Ways to spoil a request that was made from a schema. */
import fc from 'fast-check'
import { BODY_MAX_BYTES } from '../../src/contracts/limits.ts'
import { asText, pathWith, queryOf, type ApiOperation, type Fields, type Inputs } from './api-requests.ts'

/** As it goes over the socket. The target is written byte by byte (latin1), the body as it is. */
export type WireRequest = {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** More than a recursion survives, and less than the largest body. */
const LEVELS = 20_000
const LONG = 70_000

const DEEP = ['['.repeat(LEVELS) + ']'.repeat(LEVELS), '{"a":'.repeat(LEVELS) + '1' + '}'.repeat(LEVELS)]

/** JSON texts, because some have no value: 1e400, keys that come twice, keys of the prototype. */
const WRONG_VALUES: readonly string[] = [
  'null',
  'true',
  '0',
  '-1',
  '-0',
  '0.1',
  '1e308',
  '1e400',
  '-1e400',
  '2147483648',
  '9007199254740993',
  '9223372036854775808',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '""',
  '" "',
  '"NaN"',
  '"Infinity"',
  '"-1e999"',
  '"undefined"',
  '"null"',
  '"0x10"',
  '"%"',
  '"../../etc/passwd"',
  String.raw`"' or 1=1 --"`,
  '"$1"',
  String.raw`"\\"`,
  String.raw`"a\u0000b"`,
  String.raw`"\ud800"`,
  String.raw`"\udc00\ud800"`,
  String.raw`"\u202e\u2066"`,
  '"\u{1F600}"',
  ...[
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
    '2026-02-30T00:00:00Z',
    '+275760-09-13T00:00:00Z',
  ].map((time) => JSON.stringify(time)),
  '{"toString":1}',
  '{"length":-1}',
  '{"then":1}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"prototype":{"polluted":true}}',
  '{"a":1,"a":2}',
  JSON.stringify('x'.repeat(LONG)),
  JSON.stringify('é'.repeat(LONG)),
  `[${'0,'.repeat(20_000)}0]`,
  ...DEEP,
]
const BAD_BYTES = ['\xff', '\xc3', '\xed\xa0\x80', '\xf8\x88\x80\x80\x80', '\xc0\xaf']
const BAD_ESCAPES = ['%', '%zz', '%E0%A4%A', '%ud800', '%ff', '%c0%af', '%00', 'a%00b', '%0d%0a', '%2e%2e%2f']
const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonx',
  '\xff',
  '',
]
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  { 'x-svc-org': '\xff' },
  { 'x-svc-org': 'x'.repeat(5_000) },
  { 'x-svc-org': '__proto__' },
  { 'idempotency-key': '\xff' },
  { 'idempotency-key': 'constructor' },
  { 'idempotency-key': 'x'.repeat(201) },
  { traceparent: '00-0-0-zz' },
  { 'x-request-id': '\xff' },
  { 'content-encoding': 'gzip' },
  { 'user-agent': '\xff'.repeat(2_000) },
]

/** Chooses one of several, as the seed has it. */
type Choose = <T>(values: readonly T[]) => T
type Mutation = (op: ApiOperation, inputs: Inputs, choose: Choose) => WireRequest

const JSON_TYPE = { 'content-type': 'application/json' }

/** As a client that keeps to the schema writes it. */
const written = (op: ApiOperation, { path, query, body }: Inputs): WireRequest => ({
  method: op.method,
  target: pathWith(op, path) + queryOf(query),
  headers: body ? JSON_TYPE : {},
  body: body && Buffer.from(JSON.stringify(body)),
})

/** The body's members as JSON texts. An operation without a body gets one all the same. */
const membersOf = ({ body = {} }: Inputs): [string, string][] =>
  Object.entries(body).map(([name, value]) => [name, JSON.stringify(value)])
const withBody = (request: WireRequest, text: string | Buffer): WireRequest => ({
  ...request,
  headers: { ...JSON_TYPE, ...request.headers },
  body: Buffer.from(text),
})
const objectOf = (members: readonly (readonly [string, string])[]): string =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
const without = (fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name))

const namesIn = (op: ApiOperation) => ({
  path: Object.keys(op.inPath.properties ?? {}),
  query: Object.keys(op.inQuery.properties ?? {}),
  body: Object.keys(op.inBody?.properties ?? {}),
})

/** Text in a path stays short: Node itself refuses more than 16 KiB of headers. */
const shortText = (json: string): string => {
  // Half a character has no encoding, and infinitely deep has no text.
  const text = json.length > 10_000 ? json : asText(JSON.parse(json))
  return encodeURIComponent(text.slice(0, 2_000).toWellFormed())
}

const withValue =
  (wrong: string): Mutation =>
  (op, inputs, choose) => {
    const names = namesIn(op)
    const places = (['path', 'query', 'body'] as const).filter((place) => names[place].length > 0)
    const place = places.length === 0 ? 'body' : choose(places)
    const name = names[place].length === 0 ? 'nothing' : choose(names[place])
    if (place === 'body') {
      const others = membersOf(inputs).filter(([key]) => key !== name)
      return withBody(written(op, inputs), objectOf([...others, [name, wrong]]))
    }
    if (place === 'path') return withPathText(op, inputs, name, shortText(wrong))
    const request = written(op, { ...inputs, query: without(inputs.query, name) })
    return addQuery(request, `${name}=${shortText(wrong)}`)
  }

/** Not encoded: the text may be what no encoding gives. */
const withPathText = (op: ApiOperation, inputs: Inputs, name: string, text: string): WireRequest => {
  const path = op.path.replace(`{${name}}`, () => text)
  return written({ ...op, path }, inputs)
}
const addQuery = (request: WireRequest, text: string): WireRequest => ({
  ...request,
  target: `${request.target}${request.target.includes('?') ? '&' : '?'}${text}`,
})

const inTarget =
  (texts: readonly string[]): Mutation =>
  (op, inputs, choose) => {
    const { path, query } = namesIn(op)
    const text = choose(texts)
    if (path.length > 0 && choose([true, false])) return withPathText(op, inputs, choose(path), text)
    const name = query.length > 0 && choose([true, false]) ? choose(query) : choose(['x', text])
    return addQuery(written(op, inputs), `${name}=${text}`)
  }

const withoutField: Mutation = (op, inputs, choose) => {
  const { body = {} } = inputs
  const names = Object.keys(body)
  const rest = names.length === 0 ? {} : without(body, choose(names))
  return { ...withBody(written(op, inputs), JSON.stringify(rest)), target: pathWith(op, inputs.path) }
}

const withExtraField: Mutation = (op, inputs, choose) => {
  const name = choose(['nobody_takes_this', 'org_id', 'id', 'toString', 'hasOwnProperty', 'user_id'])
  const request = withBody(written(op, inputs), objectOf([...membersOf(inputs), [name, '"x"']]))
  return op.inBody ? request : addQuery(request, `${name}=x`)
}

const withDuplicateKeys: Mutation = (op, inputs, choose) => {
  const members = membersOf(inputs)
  const [name] = members.length === 0 ? ['x'] : choose(members)
  const request = withBody(
    written(op, inputs),
    objectOf([[name, choose(WRONG_VALUES)], ...members, [name, '1']]),
  )
  return addQuery(request, 'limit=1&limit=2&x=1&x=2')
}

const withPrototypeKeys: Mutation = (op, inputs, choose) => {
  const key = choose(['__proto__', 'constructor', 'prototype', '__defineGetter__'])
  const value = choose(['{"polluted":true}', '{"prototype":{"polluted":true}}', 'null', '1'])
  const request = withBody(written(op, inputs), objectOf([...membersOf(inputs), [key, value]]))
  return choose([true, false]) ? request : addQuery(request, `${key}=1&${key}[polluted]=1`)
}

const withBrokenBody: Mutation = (op, inputs, choose) => {
  const text = objectOf([...membersOf(inputs), ['name', '"@"']])
  const [before, after] = [text.slice(0, text.lastIndexOf('@')), text.slice(text.lastIndexOf('@') + 1)]
  const bytes = Buffer.from(choose(BAD_BYTES), 'latin1')
  return withBody(written(op, inputs), Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]))
}

const BODIES: readonly string[] = [
  '',
  'null',
  '42',
  '"text"',
  '[]',
  '[{}]',
  '{',
  '{}{',
  "{'a':1}",
  '\ufeff{}',
  '\0',
  'NaN',
  '['.repeat(LEVELS),
  ...DEEP,
  ' '.repeat(BODY_MAX_BYTES + 1),
]
/** Under a name of the operation's own where it has one. */
const withDeepBody: Mutation = (op, inputs, choose) => {
  const names = namesIn(op).body
  const deep = choose(DEEP)
  return withBody(written(op, inputs), objectOf([[names.length === 0 ? 'x' : choose(names), deep]]))
}

const withOtherBody: Mutation = (op, inputs, choose) => withBody(written(op, inputs), choose(BODIES))

const withOtherType: Mutation = (op, inputs, choose) => {
  const request = withBody(written(op, inputs), objectOf(membersOf(inputs)))
  return { ...request, headers: { 'content-type': choose(TYPES) } }
}

const withOtherMethod: Mutation = (op, inputs, choose) => ({
  ...written(op, inputs),
  method: choose(METHODS.filter((method) => method !== op.method)),
})

const withOddHeader: Mutation = (op, inputs, choose) => {
  const request = written(op, inputs)
  return { ...request, headers: { ...request.headers, ...choose(HEADERS) } }
}

/** So many keep to the schema; they come first. */
export const CONFORMING = 12

/** How often each is tried for one operation. */
const MUTATIONS: readonly (readonly [times: number, mutation: Mutation])[] = [
  [CONFORMING, (op, inputs) => written(op, inputs)],
  ...WRONG_VALUES.map((wrong) => [1, withValue(wrong)] as const),
  [2, withDeepBody],
  [3, withoutField],
  [3, withExtraField],
  [3, withDuplicateKeys],
  [4, withPrototypeKeys],
  [3, withBrokenBody],
  [3, withOtherBody],
  [2, withOtherType],
  [5, withOtherMethod],
  [2, withOddHeader],
  [2, inTarget(BAD_BYTES)],
  [4, inTarget(BAD_ESCAPES)],
]

/** About a hundred requests for one operation: every wrong value once, the rest by chance. */
export function spoiledRequests(
  op: ApiOperation,
  inputs: fc.Arbitrary<Inputs>,
  seed: number,
): readonly WireRequest[] {
  const mutations = MUTATIONS.flatMap(([times, mutation]) => Array.from({ length: times }, () => mutation))
  const drawn = fc.sample(fc.tuple(inputs, fc.infiniteStream(fc.nat())), { seed, numRuns: mutations.length })
  return drawn.map(([given, numbers], at) => {
    const choose: Choose = (values) => values[(numbers.next().value as number) % values.length]!
    return mutations[at]!(op, given, choose)
  })
}
