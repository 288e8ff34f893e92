import { expect, test } from 'vitest'
import { CheckDefinition } from '../../contracts/checks.ts'
import { dataKeys } from '../../trust/data-key.ts'
import { openSecrets, storeDefinition, withoutQuery, type StoredDefinition } from './stored-definition.ts'

const keys = dataKeys('a1'.repeat(32))
const key = { orgId: 'org_1', id: 'chk_1' }
const define = (rest: object) =>
  CheckDefinition.parse({ kind: 'http', url: 'https://app.test/login', method: 'POST', ...rest })
const store = (rest: object, before?: StoredDefinition) => storeDefinition(keys, key, define(rest), before)

test('a body is sealed like the values of headers, and opened for the request alone', () => {
  const secrets = { headers: { 'X-Key': 'first-secret' }, body: '{"password":"second-secret"}' }
  const stored = store(secrets)
  expect(stored.definition).toMatchObject({ headers: { 'X-Key': '[hidden]' }, body: '[hidden]' })
  expect(JSON.stringify(stored)).not.toMatch(/first-secret|second-secret/)
  expect(openSecrets(keys, key, stored)).toEqual(secrets)
  expect(() => openSecrets(keys, { ...key, orgId: 'org_2' }, stored)).toThrow('unable to authenticate')
  expect(store({}).sealedSecrets).toBeNull()
})

test('what is hidden is kept for the same host, and for no other', () => {
  const before = store({ headers: { a: '1' }, body: 'secret' })
  const kept = store(
    { headers: { A: '[hidden]', b: '2' }, body: '[hidden]', url: 'https://app.test/x' },
    before,
  )
  expect(openSecrets(keys, key, kept)).toEqual({ headers: { A: '1', b: '2' }, body: 'secret' })
  expect(openSecrets(keys, key, store({}, before))).toEqual({ headers: {} })
  const problemsOf = (rest: object, replaced?: StoredDefinition) => {
    try {
      return store(rest, replaced)
    } catch (error) {
      return (error as { problems: string[] }).problems
    }
  }
  expect(
    problemsOf({ headers: { a: '[hidden]' }, body: '[hidden]', url: 'https://else.test/' }, before),
  ).toEqual([
    'definition.headers.a: must be given again, because the host changed',
    'definition.body: must be given again, because the host changed',
  ])
  expect(problemsOf({ body: '[hidden]' })).toEqual(['definition.body: has no value that could be kept'])
})

test.each([
  ['https://app.test/health?token=secret#x', 'https://app.test/health?[hidden]'],
  ['https://app.test/?a=1?b=2\n', 'https://app.test/?[hidden]'],
  ['https://app.test/health', 'https://app.test/health'],
  ['https://app.test/?', 'https://app.test/?'],
])('for those who may not change it, %s is %s', (url, shown) => {
  const definition = { ...define({}), url } as CheckDefinition
  expect(withoutQuery(definition)).toMatchObject({ url: shown })
})

test('what is shown of the longest address is an address that may be shown', () => {
  const url = `https://app.test/${'x'.repeat(2000 - 19)}?y`
  const shown = withoutQuery(define({ url }))
  expect(CheckDefinition.parse(shown)).toEqual(shown)
  expect(shown).not.toMatchObject({ url })
})

test('a question that its tokens do not pay for is refused', () => {
  const judge = { kind: 'judge' as const, question: '漢'.repeat(2_000), window_minutes: 60 }
  expect(() => storeDefinition(keys, key, { ...judge, max_tokens: 500 })).toThrow('The request is not valid')
  expect(storeDefinition(keys, key, { ...judge, max_tokens: 10_000 }).sealedSecrets).toBeNull()
})
