import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeId } from '../../../contracts/ids.ts'
import { dataKeys } from '../../../trust/data-key.ts'
import { mailboxOf, readUnsubscribeToken, unsubscribeToken } from './unsubscribe-token.ts'

const key = dataKeys('11'.repeat(32)).keyFor('unsubscribe')
const otherKey = dataKeys('22'.repeat(32)).keyFor('unsubscribe')
const named = (mailbox: string | null = null) => ({
  orgId: makeId('org', 1),
  subscriptionId: makeId('sub', 2),
  mailbox,
})
const MAILBOX = mailboxOf('0123456789abcdef'.repeat(4))

test('a token names its subscription again, and nothing else', () => {
  const one = named()
  const token = unsubscribeToken(key, one)
  expect(readUnsubscribeToken(key, token)).toEqual(one)
  expect(token).toMatch(/^n1\.org_\w+\.sub_\w+\.[\w-]{22}$/)
  expect(encodeURIComponent(token)).toBe(token)
})

test('the same subscription has the same token, so that old mails work as well as new ones', () => {
  const one = named()
  expect(unsubscribeToken(key, one)).toBe(unsubscribeToken(key, { ...one }))
})

test('another subscription, another organization or another key does not open it', () => {
  const [one, other] = [named(), named()]
  const mac = unsubscribeToken(key, one).split('.').at(-1)
  for (const forged of [
    `n1.${one.orgId}.${other.subscriptionId}.${mac}`,
    `n1.${other.orgId}.${one.subscriptionId}.${mac}`,
    `n2.${one.orgId}.${one.subscriptionId}.${mac}`,
    unsubscribeToken(otherKey, one),
  ]) {
    expect(readUnsubscribeToken(key, forged)).toBeUndefined()
  }
})

test('a token of a mailbox names it, and is no other mailbox’s and no person’s', () => {
  const one = named(MAILBOX)
  const token = unsubscribeToken(key, one)
  expect(readUnsubscribeToken(key, token)).toEqual(one)
  const mac = token.split('.').at(-1)
  for (const other of [`.${'f'.repeat(16)}`, '']) {
    const forged = `n1.${one.orgId}.${one.subscriptionId}${other}.${mac}`
    expect(readUnsubscribeToken(key, forged)).toBeUndefined()
  }
})

test('a changed letter anywhere makes it worthless', () => {
  const token = unsubscribeToken(key, named(MAILBOX))
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ unit: 'binary-ascii', maxLength: 2 }), (n, put) => {
      const changed = token.slice(0, n) + put + token.slice(n + 1)
      expect(readUnsubscribeToken(key, changed)).toEqual(
        changed === token ? readUnsubscribeToken(key, token) : undefined,
      )
    }),
  )
  expect(readUnsubscribeToken(key, `${token}\n`)).toBeUndefined()
  expect(readUnsubscribeToken(key, '')).toBeUndefined()
})
