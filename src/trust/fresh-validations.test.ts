import { expect, test } from 'vitest'
import type * as z from 'zod'
import type { ValidatedToken } from '../contracts/tokens.ts'
import { answerForAssertion, freshAnswer, rememberAnswer } from './fresh-validations.ts'

type Validation = z.output<typeof ValidatedToken>
const TOKEN = 'the token'

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
  const answer = rememberAnswer(validation(), TOKEN)
  const now = performance.now()
  expect(freshAnswer(answer, TOKEN)).toBe(answer)
  expect(freshAnswer(answer, 'another token')).toBeUndefined()
  expect(freshAnswer(answer, TOKEN, now + 900)).toBe(answer)
  expect(freshAnswer(answer, TOKEN, now + 1_001)).toBeUndefined()
})

test('nothing that merely looks like it is', () => {
  const answer = rememberAnswer(validation(), TOKEN)
  for (const forged of [undefined, {}, validation(), { ...answer }, structuredClone(answer)]) {
    expect(freshAnswer(forged, TOKEN)).toBeUndefined()
  }
  expect(freshAnswer(JSON.parse(JSON.stringify(answer)) as object, TOKEN)).toBeUndefined()
  expect(freshAnswer(Object.create(answer) as object, TOKEN)).toBeUndefined()
})

test('whoever holds it cannot make it say more', () => {
  const answer = rememberAnswer(validation(), TOKEN)
  expect(() => Object.assign(answer, { role: 'owner' })).toThrow(TypeError)
  expect(() => answer.scopes?.push('notifications:read')).toThrow(TypeError)
  expect(() => Object.assign(answer.organization ?? {}, { id: 'org_2' })).toThrow(TypeError)
})

test('one that refuses the call is never used again', () => {
  const answer = rememberAnswer(validation({ retry_after_seconds: 3 }), TOKEN)
  expect(freshAnswer(answer, TOKEN)).toBeUndefined()
})

test('an assertion made from an API token has its answer, with no more scopes and no later end', () => {
  const now = new Date()
  const settings = { token: TOKEN, assertion: 'made from it', now }
  const original = rememberAnswer(validation({ kind: 'api_token', token_id: 'tok_1' }), TOKEN)
  const scopes = ['data:read', 'notifications:read'] as const
  const derived = answerForAssertion(original, { ...settings, scopes })!
  expect(freshAnswer(derived, 'made from it')).toMatchObject({
    kind: 'actor',
    scopes: ['data:read'],
    token_id: 'tok_1',
  })
  expect(freshAnswer(derived, TOKEN)).toBeUndefined()
  expect(freshAnswer(derived, 'made from it', performance.now() + 1_000)).toBeUndefined()
  expect(answerForAssertion({ ...original }, { ...settings, scopes })).toBeUndefined()
  expect(answerForAssertion(original, { ...settings, token: 'another token', scopes })).toBeUndefined()
})

test('nor is it fresh for longer than what it was made from', () => {
  const original = rememberAnswer(validation({ kind: 'api_token', token_id: 'tok_1' }), TOKEN)
  const answeredBefore = performance.now()
  while (performance.now() === answeredBefore);
  const made = { token: TOKEN, assertion: 'made from it', scopes: [], now: new Date() }
  const derived = answerForAssertion(original, made)
  expect(freshAnswer(derived, 'made from it')).toBe(derived)
  expect(freshAnswer(derived, 'made from it', answeredBefore + 1_000)).toBeUndefined()
})
