/**
 * The capability in the unsubscribe link of a mail: it turns off one subscription and nothing else, needs no sign-in and
 * names nobody. Its key comes from DATA_KEY, so that a rotation of the JWT secrets leaves old mails working.
 */
import { createHmac } from 'node:crypto'
import { sameSecret } from '../../../trust/keyed-hash.ts'

/** Both ids, because a subscription is found by both. */
type SubscriptionKey = { readonly orgId: string; readonly subscriptionId: string }

/** Of 43 characters: 132 bits are not guessed, and the link fits into one line of a mail. */
const MAC_CHARACTERS = 22

export const unsubscribeToken = (key: Uint8Array, named: SubscriptionKey): string =>
  `n1.${named.orgId}.${named.subscriptionId}.${macOf(key, named)}`

/** Undefined for anything that is not ours, without asking the database. */
export function readUnsubscribeToken(key: Uint8Array, token: string): SubscriptionKey | undefined {
  const [, orgId, subscriptionId, mac] = /^n1\.(org_\w{1,60})\.(sub_\w{1,60})\.([\w-]{22})$/.exec(token) ?? []
  if (orgId === undefined || subscriptionId === undefined || mac === undefined) return undefined
  const named = { orgId, subscriptionId }
  return sameSecret(macOf(key, named), mac) ? named : undefined
}

const macOf = (key: Uint8Array, { orgId, subscriptionId }: SubscriptionKey): string =>
  createHmac('sha256', key)
    .update(`unsubscribe\0${orgId}\0${subscriptionId}`)
    .digest('base64url')
    .slice(0, MAC_CHARACTERS)
