import { expect, test } from 'vitest'
import { SignInRefused } from '../../contracts/sign-in-errors.ts'
import { microsoftPerson } from './microsoft.ts'

const origin = 'https://login.microsoftonline.com'
const ACME = 'c0ffee00-2222-4333-8444-555555555555'
const EVIL = '66666666-7777-4888-8999-000000000000'
const PRIVATE = '9188040d-6c67-4c5b-b112-36a304b66dad'
const OID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'

const tokenOf = (tid: unknown, more = {}) => ({
  iss: `${origin}/${String(tid)}/v2.0`,
  aud: 'client',
  exp: 1,
  iat: 1,
  sub: 'differs for every application',
  tid: tid as string,
  oid: OID,
  ...more,
})

test('a person at Microsoft is the tenant and the object in it', () => {
  const person = microsoftPerson(tokenOf(ACME, { name: 'Ada' }), { tenant: 'common', origin })
  expect(person).toMatchObject({ issuer: `${origin}/${ACME}/v2.0`, subject: OID, name: 'Ada' })
})

test.each([
  ['common', ACME],
  ['common', PRIVATE],
  ['organizations', ACME],
  ['consumers', PRIVATE],
  [ACME, ACME],
])('the setting %s accepts tenant %s', (tenant, tid) => {
  expect(microsoftPerson(tokenOf(tid), { tenant, origin })).toMatchObject({ subject: OID })
})

test.each([
  ['organizations', PRIVATE],
  ['consumers', ACME],
  [ACME, EVIL],
  [ACME, PRIVATE],
])('the setting %s refuses tenant %s', (tenant, tid) => {
  expect(() => microsoftPerson(tokenOf(tid), { tenant, origin })).toThrow(SignInRefused)
})

test.each([
  ['issued by another tenant', { iss: `${origin}/${EVIL}/v2.0` }],
  ['issued by the template itself', { iss: `${origin}/{tenantid}/v2.0` }],
  ['issued at another address', { iss: `https://evil.example/${ACME}/v2.0` }],
  ['without tid', { tid: undefined }],
  ['with a tid that is no UUID', { iss: `${origin}/a/../${ACME}/v2.0`, tid: `a/../${ACME}` }],
  ['without oid', { oid: undefined }],
])('a token %s proves nobody', (_what, claims) => {
  expect(() => microsoftPerson(tokenOf(ACME, claims), { tenant: 'common', origin })).toThrow(SignInRefused)
})

/** nOAuth: the administrator of any tenant writes somebody else's address into `email` and signs in as them. */
test.each([
  ['the free email claim', { email: 'ada@acme.example' }],
  ['email_verified, which Microsoft does not send', { email: 'ada@acme.example', email_verified: true }],
  ['a refused xms_edov', { email: 'ada@acme.example', xms_edov: false }],
  ['a zero in words', { email: 'ada@acme.example', xms_edov: '0' }],
  ['an empty list', { email: 'ada@acme.example', verified_primary_email: [] }],
  ['a list that is none', { email: 'ada@acme.example', verified_primary_email: 'ada@acme.example' }],
  ['an address in upn', { email: 'ada@acme.example', upn: 'ada@acme.example' }],
])('%s verifies no address', (_what, claims) => {
  const person = microsoftPerson(tokenOf(EVIL, claims), { tenant: 'common', origin })
  expect(person).toMatchObject({ email: 'ada@acme.example', emailVerified: false })
})

test('preferred_username is not an address', () => {
  const claims = tokenOf(ACME, { preferred_username: 'ada@acme.example', xms_edov: true })
  expect(microsoftPerson(claims, { tenant: 'common', origin })).toMatchObject({
    email: null,
    emailVerified: false,
  })
})

test.each([true, 1, '1', 'true'])('xms_edov %j verifies the address beside it', (xms_edov) => {
  const claims = tokenOf(ACME, { email: 'ada@acme.example', xms_edov })
  expect(microsoftPerson(claims, { tenant: 'common', origin })).toMatchObject({
    email: 'ada@acme.example',
    emailVerified: true,
  })
})

test('the verified primary address goes before the free one', () => {
  const claims = tokenOf(ACME, { email: 'boss@rival.example', verified_primary_email: ['ada@acme.example'] })
  expect(microsoftPerson(claims, { tenant: 'common', origin })).toMatchObject({
    email: 'ada@acme.example',
    emailVerified: true,
  })
})
