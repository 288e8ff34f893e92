/** App tokens: what they carry, and that a mistyped one is known as such. */
import { expect, test } from 'vitest'
import { makeId } from '../contracts/ids.ts'
import { maskSecrets } from '../contracts/mask-secrets.ts'
import { isApiToken, makeApiToken } from './api-token.ts'
import { appTokenHash, appTokenPrefix, isAppToken, makeAppToken, organizationOfToken } from './app-token.ts'

const orgId = makeId('org', Date.now())
const token = makeAppToken(orgId)

test('a token names its organization, and nothing else of it is stored than a hash and a beginning', () => {
  expect(organizationOfToken(token)).toBe(orgId)
  expect(token).not.toBe(makeAppToken(orgId))
  expect(appTokenHash(token)).toMatch(/^[0-9a-f]{64}$/)
  expect(token.startsWith(appTokenPrefix(token))).toBe(true)
  expect(appTokenPrefix(token)).toHaveLength(11)
})

test('it is none of a person’s, and theirs is none of an app', () => {
  expect([isAppToken(token), isApiToken(token)]).toEqual([true, false])
  expect(isAppToken(makeApiToken())).toBe(false)
})

test('a mistyped one has no organization', () => {
  const other = token.at(20) === 'a' ? 'b' : 'a'
  for (const wrong of [
    token.slice(0, -1),
    `${token}x`,
    token.slice(0, 20) + other + token.slice(21),
    'svca_',
  ]) {
    expect(isAppToken(wrong)).toBe(true)
    expect(organizationOfToken(wrong)).toBeUndefined()
  }
})

test('it is masked wherever others wrote it', () => {
  expect(maskSecrets(`using ${token} now`)).toBe('using [hidden] now')
})
