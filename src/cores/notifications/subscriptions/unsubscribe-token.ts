/**
 * The capability in the unsubscribe link of a mail: it turns off one subscription and nothing else, needs no sign-in and
 * names nobody. Its key comes from DATA_KEY, so that a rotation of the JWT secrets leaves old mails working.
 */
import { createHmac } from 'node:crypto'
import { sameSecret } from '../../../trust/keyed-hash.ts'

/**
 * Both ids, because a subscription is found by both. Of an integration also the mailbox that it was mailed to: whoever read
 * there has no say in the next one.
 */
type MailedSubscription = {
  readonly orgId: string
  readonly subscriptionId: string
  /** Null: to a person, wherever they read. */
  readonly mailbox: string | null
}

/** Of 43 characters: 132 bits are not guessed, and the link fits into one line of a mail. */
const MAC_CHARACTERS = 22

/** By the digest of its address: 64 bits tell it from the few that the integration ever had. */
export const mailboxOf = (digest: string): string => digest.slice(0, 16)

export const unsubscribeToken = (key: Uint8Array, named: MailedSubscription): string =>
  ['n1', ...partsOf(named), macOf(key, named)].join('.')

/** Undefined for anything that is not ours, without asking the database. */
export function readUnsubscribeToken(key: Uint8Array, token: string): MailedSubscription | undefined {
  const [, orgId, subscriptionId, mailbox = null, mac] =
    /^n1\.(org_\w{1,60})\.(sub_\w{1,60})(?:\.([0-9a-f]{16}))?\.([\w-]{22})$/.exec(token) ?? []
  if (orgId === undefined || subscriptionId === undefined || mac === undefined) return undefined
  const named = { orgId, subscriptionId, mailbox }
  return sameSecret(macOf(key, named), mac) ? named : undefined
}

const partsOf = ({ orgId, subscriptionId, mailbox }: MailedSubscription): string[] => [
  orgId,
  subscriptionId,
  ...(mailbox === null ? [] : [mailbox]),
]

const macOf = (key: Uint8Array, named: MailedSubscription): string =>
  createHmac('sha256', key)
    .update(['unsubscribe', ...partsOf(named)].join('\0'))
    .digest('base64url')
    .slice(0, MAC_CHARACTERS)
