/** Whatever is sent, the answer is one of our own refusals with a request id: never a 500, never words from inside. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { listAudit } from '../../src/contracts/audit.ts'
import { ERRORS, type ErrorBody } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { BODY_MAX_BYTES } from '../../src/contracts/limits.ts'
import { inviteMember, listMembers } from '../../src/contracts/members.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { createOrganization, createOrganizationAsOperator } from '../../src/contracts/organizations.ts'
import { showProfile, whoAmI } from '../../src/contracts/people.ts'
import { exchangeSignInCode, signInWithPassword } from '../../src/contracts/sessions.ts'
import { createApiToken, listApiTokens, validateToken } from '../../src/contracts/tokens.ts'
import { forgeries } from '../support/forge.ts'
import { pathFor } from '../support/invalid-request.ts'
import { makeApiToken, makeOrganization, unique, type Org } from '../support/make.ts'
import { refusal } from '../support/refusal.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
  org = await makeOrganization(system)
})

afterAll(() => system.stop())

const tokenFor = (op: Operation): string => (op.access === 'operator' ? OPERATOR_TOKEN : org.owner.token)

const send = (op: Operation, init: RequestInit & { query?: string } = {}): Promise<Response> => {
  const headers = new Headers({
    authorization: `Bearer ${tokenFor(op)}`,
    'content-type': 'application/json',
    accept: 'application/json',
  })
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
  const { query = '', ...rest } = init
  return system.fetch(pathFor(op, org.id) + query, { ...rest, method: op.http.method.toUpperCase(), headers })
}

const takesBody = ({ http }: Operation) => !['get', 'delete'].includes(http.method) && !http.takes
const ALL: readonly Operation[] = OPERATIONS
const named = (ops: readonly Operation[]) => ops.map((op) => [op.name, op] as const)

const inBytes = ALL.filter(({ http }) => http.takes)
test.each(named(inBytes))('%s takes no bytes of another type, and no other encoding', async (_name, op) => {
  for (const type of ['text/html', 'application/octet-stream', '']) {
    const headers = { 'content-type': type }
    expect(await refusal(await send(op, { body: 'x', headers }))).toBe('INVALID_REQUEST')
  }
  const headers = { 'content-type': [op.http.takes!.type].flat()[0]!, 'content-encoding': 'br' }
  expect(await refusal(await send(op, { body: 'x', headers }))).toBe('INVALID_REQUEST')
})

describe.each(named(ALL.filter(takesBody)))('the body of %s', (_name, op) => {
  const bytes = (...parts: (string | number[])[]) =>
    new Uint8Array(parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part)] : part)))

  const BODIES: Record<string, BodyInit> = {
    'cut JSON': '{"name":',
    'no JSON': "{'name': 'x'}",
    'JSON and a half': '{}{',
    null: 'null',
    'a number': '42',
    'a text': '"name"',
    'an array': '[]',
    'an array of objects': '[{"name":"x"}]',
    'an unknown key': '{"nobody_takes_this":1}',
    'a key that is everywhere': '{"__proto__":{"name":"x"},"constructor":1}',
    'broken UTF-8': bytes('{"name":"', [0xff, 0xfe, 0xc3], '"}'),
    'UTF-16': new Uint8Array(Buffer.from('{"name":"x"}', 'utf16le')),
    'NUL in a value': JSON.stringify({ name: 'a\0b' }),
    'NUL in a key': JSON.stringify({ 'na\0me': 'a' }),
    'half a character': String.raw`{"name":"\ud800"}`,
    'deep arrays': `{"name":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    'deep objects': `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  }
  const limit = op.http.maxBytes ?? BODY_MAX_BYTES

  test('that is not what it should be', async () => {
    for (const [what, body] of Object.entries(BODIES)) {
      expect([what, await refusal(await send(op, { body }))]).toEqual([what, 'INVALID_REQUEST'])
    }
  })

  test('too much', async () => {
    const body = `{"name":"${'x'.repeat(limit)}"}`
    expect(await refusal(await send(op, { body }))).toBe('TOO_LARGE')
  })

  test('too much, in pieces and without an end', async () => {
    let pieces = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (pieces++, controller.enqueue(new Uint8Array(16 * 1024).fill(0x20))),
    })
    expect(await refusal(await send(op, { body, duplex: 'half' } as RequestInit))).toBe('TOO_LARGE')
    expect(pieces * 16 * 1024).toBeLessThan(4 * limit)
  })

  test('that is called something else than JSON', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonx',
      'ÿ',
      '',
    ]) {
      const response = await send(op, { body: '{"name":"x"}', headers: { 'content-type': type } })
      expect([type, await refusal(response)]).toEqual([type, 'INVALID_REQUEST'])
    }
  })

  const fields = Object.keys(op.input.shape).filter((name) => !op.http.path.includes(`{${name}}`))
  // All that some operations take is in their path.
  test.skipIf(fields.length === 0)('with every field of a wrong type, all problems at once', async () => {
    for (const wrong of [{}, null, [[]], 1e308, Number.MIN_SAFE_INTEGER, { toString: 1 }]) {
      // No filters are filters too, and nothing may be what removes something.
      const refused = fields.filter((name) => !(op.input.shape[name] as z.ZodType).safeParse(wrong).success)
      if (refused.length === 0) continue
      const body = JSON.stringify(Object.fromEntries(fields.map((name) => [name, wrong])))
      const response = await send(op, { body })
      const { error } = (await response.clone().json()) as ErrorBody
      expect(await refusal(response)).toBe('INVALID_REQUEST')
      expect(new Set(error.problems?.map((problem) => /^\w+/.exec(problem)?.[0]))).toEqual(new Set(refused))
    }
  })
})

describe.each(named(ALL.filter((op) => !takesBody(op))))('the query of %s', (_name, op) => {
  const cursor = (key: unknown) => `cursor=${Buffer.from(JSON.stringify(key)).toString('base64url')}`
  const QUERIES = [
    'nobody_takes_this=1',
    ...['0', '-1', '1.5', '201', '1e9', 'NaN', 'Infinity', '', 'ten', '1%00', '%', '%ff'].map(
      (limit) => `limit=${limit}`,
    ),
    'limit=1&limit=2',
    ...['!', 'null', 'é', 'A'.repeat(5000)].map((text) => `cursor=${text}`),
    ...[[], {}, null, 1, [1], [['a']], ['a', 'b', 'c'], ['\0'], ['x'.repeat(400)]].map(cursor),
    'cursor=a&cursor=b',
  ]
  test('that nobody meant', async () => {
    for (const query of QUERIES) {
      expect([query, await refusal(await send(op, { query: `?${query}` }))]).toEqual([
        query,
        'INVALID_REQUEST',
      ])
    }
  })
})

test.each([
  '0000-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-11-15',
  'yesterday',
  '2026-11-15T00:00:00+02:00',
  '%00',
])('a time like %s', async (time) => {
  for (const name of ['from', 'to']) {
    expect(await refusal(await send(listAudit, { query: `?${name}=${time}` }))).toBe('INVALID_REQUEST')
  }
})

test('what a person types into a search is text, whatever it looks like', async () => {
  for (const search of ['%', '_', String.raw`\\`, "' or 1=1 --", '\u{1F600}', '‮', 'x'.repeat(120)]) {
    for (const op of [listMembers, listApiTokens] as unknown as Operation[]) {
      const response = await send(op, { query: `?${new URLSearchParams({ search })}` })
      expect(response.status).toBe(200)
      expect(JSON.stringify(await response.json())).not.toContain(org.owner.userId)
    }
  }
})

describe('paths', () => {
  test.each([
    '/api/v1/orgs/%',
    '/api/v1/orgs/%E0%A4%A',
    '/api/v1/orgs/%00',
    '/api/v1/orgs/%ud800',
    '/api/v1/orgs/..%2f..%2fetc%2fpasswd',
    '/api/v1/orgs/..%5c',
    "/api/v1/orgs/'%20or%201=1--",
    `/api/v1/orgs/${'x'.repeat(20_000)}`,
    '/api/v1/orgs/ORG_0000000000000000000000000',
    '/api/v1/orgs/null',
    '/api/v1/orgs//members',
    '/api/v1/tokens/%00',
    '/api/v1/sessions/%E0%A4%A',
    '/api/v1/nowhere',
    '/api/v2/me',
    '/api/v1/me/',
    '/api/V1/ME',
    '/api',
  ])('%s', async (path) => {
    for (const method of ['GET', 'DELETE', 'POST']) {
      const headers = { authorization: `Bearer ${org.owner.token}`, 'content-type': 'application/json' }
      const response = await system.fetch(path, {
        method,
        headers,
        ...(method === 'POST' ? { body: '{}' } : {}),
      })
      expect(['NOT_FOUND', 'INVALID_REQUEST']).toContain(await refusal(response))
    }
  })
})

describe('headers', () => {
  test.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    'Bearer two words',
    'Token x',
    'Bearer ÿþ',
    'x'.repeat(50_000),
  ])('Authorization: %s', async (authorization) => {
    for (const op of [whoAmI, showProfile] as Operation[]) {
      const response = await send(op, { headers: { authorization } })
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /)
      expect(await refusal(response)).toBe('UNAUTHENTICATED')
    }
  })

  test.each(['ÿ', '../..', "' or 1=1 --", 'x'.repeat(20_000), 'org_0'])(
    'X-Svc-Org: %s',
    async (organization) => {
      const response = await send(listApiTokens, { headers: { 'x-svc-org': organization } })
      expect(await refusal(response)).toBe('NOT_FOUND')
    },
  )

  test.each(['', 'two words', 'ÿ', 'x'.repeat(201)])('Idempotency-Key: %s', async (key) => {
    const body = JSON.stringify({ name: unique('Org') })
    const response = await send(createOrganization, {
      body,
      headers: { 'idempotency-key': key },
    })
    expect(await refusal(response)).toBe('INVALID_REQUEST')
  })

  test.each(['short', 'two words long', '<script>alert(1)</script>', 'x'.repeat(500)])(
    'X-Request-Id: %s is replaced by one of ours',
    async (id) => {
      const response = await send(whoAmI, {
        query: '?nobody_takes_this=1',
        headers: { 'x-request-id': id },
      })
      expect(await refusal(response)).toBe('INVALID_REQUEST')
    },
  )

  test('a good X-Request-Id is kept, and stands in the answer', async () => {
    const response = await send(whoAmI, {
      headers: { 'x-request-id': 'their-own.id_1', authorization: '' },
    })
    expect(((await response.json()) as ErrorBody).error.request_id).toBe('their-own.id_1')
  })

  test.each(['*/*', 'text/html', 'ÿ', 'x'.repeat(10_000), ';;;,,,'])(
    'Accept: %s still gets JSON',
    async (accept) => {
      const response = await send(whoAmI, { headers: { accept, authorization: '' } })
      expect(await refusal(response)).toBe('UNAUTHENTICATED')
    },
  )

  test('who asks for YAML is refused in YAML', async () => {
    const response = await send(whoAmI, {
      headers: { accept: 'application/yaml', authorization: '' },
    })
    expect(response.headers.get('content-type')).toMatch(/yaml/)
    expect(await response.text()).toMatch(/^error:\n {2}code: UNAUTHENTICATED\n/)
  })
})

test('a forged bearer of any kind is refused in the same words, at both services and by the validation', async () => {
  const other = await makeOrganization(system)
  const forged = await forgeries(
    system,
    { org, person: org.owner, apiToken: await makeApiToken(system, org, org.owner) },
    { org: other, person: other.owner, apiToken: await makeApiToken(system, other, other.owner) },
  )
  for (const [lie, token] of Object.entries(forged)) {
    for (const op of [whoAmI, showProfile, validateToken] as Operation[]) {
      const response = await send(op, {
        headers: { authorization: `Bearer ${token}` },
        ...(takesBody(op) ? { body: '{}' } : {}),
      })
      const { error } = (await response.clone().json()) as ErrorBody
      expect([lie, op.name, await refusal(response)]).toEqual([lie, op.name, 'UNAUTHENTICATED'])
      expect(error.message).toBe(ERRORS.UNAUTHENTICATED.message)
    }
  }
  // The real ones still work: nothing above ended a session by mistaking a lie for a replay.
  expect((await send(whoAmI as Operation)).status).toBe(200)
})

test('values of any kind in the right fields are taken or refused, never a 500', async () => {
  const open = [
    signInWithPassword,
    exchangeSignInCode,
    validateToken,
    createApiToken,
    inviteMember,
    createOrganizationAsOperator,
  ]
  const anything = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('owner', ['api'], 1),
  )
  for (const op of open as unknown as Operation[]) {
    const fields = Object.keys(op.input.shape).filter((name) => !op.http.path.includes(`{${name}}`))
    const input = fc.record(Object.fromEntries(fields.map((name) => [name, anything])), { requiredKeys: [] })
    await fc.assert(
      fc.asyncProperty(input, async (body) => {
        const response = await send(op, {
          body: JSON.stringify(body),
          headers: { 'x-svc-address': makeId('req', 0) },
        })
        if (!response.ok) await refusal(response)
      }),
      { numRuns: 12 },
    )
  }
})

// Last on purpose: refusals are information, an error line would mean that we did something wrong.
test('nothing of all this was an error of ours', () => {
  expect(system.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  expect(system.logLines.some((line) => line.includes('"event":"request refused"'))).toBe(true)
})
