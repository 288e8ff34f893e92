/** What an integration is reached with: sealed at rest, found again by a keyed digest, shown only masked. */
import type { DataKeys } from '../../../trust/data-key.ts'
import { keyedHash } from '../../../trust/keyed-hash.ts'

/** `botToken` only of an installed chat app, `apiKey` only of a forum. */
export type IntegrationSecret = {
  readonly url: string
  readonly botToken?: string | undefined
  readonly apiKey?: string | undefined
  /** Only of a webhook: what signs instead of the key of its address. */
  readonly signing?: WebhookSigning | undefined
}

export type WebhookSigning = {
  readonly secret: string
  /** What signs beside it until then; null: the key of the address. */
  readonly previous: string | null
  readonly previousUntil: string
}

type IntegrationKey = { readonly orgId: string; readonly id: string }

const placeOf = ({ orgId, id }: IntegrationKey): string => `integration ${orgId} ${id}`

export const sealIntegrationSecret = (
  dataKeys: DataKeys,
  key: IntegrationKey,
  secret: IntegrationSecret,
): string => dataKeys.seal(placeOf(key), JSON.stringify(secret))

export const openIntegrationSecret = (
  dataKeys: DataKeys,
  row: IntegrationKey & { readonly sealed: string },
): IntegrationSecret => JSON.parse(dataKeys.open(placeOf(row), row.sealed)) as IntegrationSecret

/** Of the exact address: it is the signing key, so two spellings are two addresses. */
export const digestOf = (dataKeys: DataKeys, url: string): string =>
  keyedHash(dataKeys.keyFor('address-digest'), url)

/** Of a mailbox, for the list of those that a mail server rejected. */
export const emailDigest = (dataKeys: DataKeys, address: string): string =>
  digestOf(dataKeys, address.toLowerCase())

/** The last characters tell two addresses apart; of so many they help nobody to guess the rest. */
const SHOWN_CHARACTERS = 4
const SECRET_CHARACTERS_MIN = 16

/** RFC 6068: an email address as a URL, so that every integration has one. */
export const mailtoUrl = (email: string): string => `mailto:${email}`
export const emailOf = (url: string): string => url.slice(mailtoUrl('').length)

export function maskAddress(url: string): string {
  const { origin, pathname, search, hash, protocol } = new URL(url)
  if (protocol === 'mailto:') return emailOf(url).replace(/^(.).*(?=@)/, '$1…')
  const secret = `${pathname}${search}${hash}`
  const end = secret.length >= SECRET_CHARACTERS_MIN ? secret.slice(-SHOWN_CHARACTERS) : ''
  return `${origin}/…${end}`
}
