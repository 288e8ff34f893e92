import { expect, test } from 'vitest'
import type * as z from 'zod'
import type { ValidatedToken } from '../contracts/tokens.ts'
import { answerForAssertion, freshAnswer, rememberAnswer } from './fresh-validations.ts'

type Validation = z.output<typeof ValidatedToken>
const TOKEN = 'the token'
/** When the answer was given, by the clock of the process. */
const AT = 5_000

const validation = (changes: Partial<Validation> = {}): Validation => ({
  valid: true,
  kind: 'actor',
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada' },
  organization: { id: 'org_1', name: 'Northwind', slug: 'northwind' },
  role: 'viewer',
  scopes: ['data:read'],
  audiences: ['api'],
  expires_at: null,
  ...changes,
})

test('the very answer is known for a second, about its own token', () => {
  const answer = rememberAnswer(validation(), TOKEN, AT)
  expect(freshAnswer(answer, TOKEN, AT)).toBe(answer)
  expect(freshAnswer(answer, 'another token', AT)).toBeUndefined()
  expect(freshAnswer(answer, TOKEN, AT + 999)).toBe(answer)
  expect(freshAnswer(answer, TOKEN, AT + 1_000)).toBeUndefined()
})

test('nothing that merely looks like it is', () => {
  const answer = rememberAnswer(validation(), TOKEN, AT)
  for (const forged of [undefined, {}, validation(), { ...answer }, structuredClone(answer)]) {
    expect(freshAnswer(forged, TOKEN, AT)).toBeUndefined()
  }
  expect(freshAnswer(JSON.parse(JSON.stringify(answer)) as object, TOKEN, AT)).toBeUndefined()
  expect(freshAnswer(Object.create(answer) as object, TOKEN, AT)).toBeUndefined()
})

test('whoever holds it cannot make it say more', () => {
  const answer = rememberAnswer(validation(), TOKEN)
  expect(() => Object.assign(answer, { role: 'owner' })).toThrow(TypeError)
  expect(() => answer.scopes?.push('notifications:read')).toThrow(TypeError)
  expect(() => Object.assign(answer.organization ?? {}, { id: 'org_2' })).toThrow(TypeError)
})

test('one that refuses the call is never used again', () => {
  const answer = rememberAnswer(validation({ retry_after_seconds: 3 }), TOKEN, AT)
  expect(freshAnswer(answer, TOKEN, AT)).toBeUndefined()
})

test('an assertion made from an API token has its answer, with no more scopes and no later end', () => {
  const now = new Date()
  const settings = { token: TOKEN, assertion: 'made from it', now }
  const original = rememberAnswer(validation({ kind: 'api_token', token_id: 'tok_1' }), TOKEN, AT)
  const scopes = ['data:read', 'notifications:read'] as const
  const derived = answerForAssertion(original, { ...settings, scopes })!
  expect(freshAnswer(derived, 'made from it', AT)).toMatchObject({
    kind: 'actor',
    scopes: ['data:read'],
    token_id: 'tok_1',
  })
  expect(freshAnswer(derived, TOKEN, AT)).toBeUndefined()
  expect(freshAnswer(derived, 'made from it', AT + 1_000)).toBeUndefined()
  expect(answerForAssertion({ ...original }, { ...settings, scopes })).toBeUndefined()
  expect(answerForAssertion(original, { ...settings, token: 'another token', scopes })).toBeUndefined()
})

test('nor is it fresh for longer than what it was made from', () => {
  const original = rememberAnswer(validation({ kind: 'api_token', token_id: 'tok_1' }), TOKEN, AT)
  const made = { token: TOKEN, assertion: 'made from it', scopes: [], now: new Date() }
  const derived = answerForAssertion(original, made)
  expect(freshAnswer(derived, 'made from it', AT + 999)).toBe(derived)
  expect(freshAnswer(derived, 'made from it', AT + 1_000)).toBeUndefined()
})
