import { expect, test } from 'vitest'
import { googlePerson } from './google.ts'

const TOKEN = { iss: 'https://accounts.google.com', aud: 'client', exp: 1, iat: 1, sub: '1084' }

test('a person at Google is the issuer and its subject, whatever the address', () => {
  const { issuer, subject } = googlePerson({ ...TOKEN, email: 'ada@acme.example' })
  expect([issuer, subject]).toEqual(['https://accounts.google.com', '1084'])
})

test.each<[string, Record<string, string | boolean>, boolean]>([
  ['a Workspace address', { email: 'ada@acme.example', email_verified: true, hd: 'acme.example' }, true],
  ['a Gmail address', { email: 'ada@gmail.com', email_verified: true }, true],
  ['an address Google has not verified', { email: 'ada@gmail.com', email_verified: false }, false],
  ['an unverified Workspace address', { email: 'ada@acme.example', hd: 'acme.example' }, false],
  ['a verdict in words', { email: 'ada@gmail.com', email_verified: 'true' }, false],
  ['no address', { email_verified: true, hd: 'acme.example' }, false],
  // The account outlives the mailbox: without `hd` nobody at acme.example can close it.
  [
    'a private account opened on a company address',
    { email: 'ada@acme.example', email_verified: true },
    false,
  ],
  [
    'an address that only looks like Gmail',
    { email: 'ada@gmail.com.evil.example', email_verified: true },
    false,
  ],
])('%s', (_what, claims, emailVerified) => {
  const person = googlePerson({ ...TOKEN, ...claims })
  expect(person).toMatchObject({ email: claims.email ?? null, emailVerified })
})
