/** What a connection is reached with: sealed at rest, found again by a keyed digest, shown masked and never otherwise. */
import type { DataKeys } from '../../trust/data-key.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'

/** `botToken` only of an installed chat app, `apiKey` only of a forum. */
export type ConnectionSecret = {
  readonly url: string
  readonly botToken?: string | undefined
  readonly apiKey?: string | undefined
}

type Place = { readonly orgId: string; readonly id: string }

const placeOf = ({ orgId, id }: Place): string => `integration ${orgId} ${id}`

export const sealConnection = (dataKeys: DataKeys, at: Place, secret: ConnectionSecret): string =>
  dataKeys.seal(placeOf(at), JSON.stringify(secret))

export const openConnection = (
  dataKeys: DataKeys,
  row: Place & { readonly sealed: string },
): ConnectionSecret => JSON.parse(dataKeys.open(placeOf(row), row.sealed)) as ConnectionSecret

/** The address to the letter: it is the key of its signatures, so two spellings are two addresses. */
export const digestOf = (dataKeys: DataKeys, url: string): string =>
  keyedHash(dataKeys.keyFor('address-digest'), url)

/** Of what follows the host so much is secret that its last letters tell two addresses apart and help nobody to guess. */
const SHOWN_LETTERS = 4
const SECRET_LETTERS_MIN = 16

export function maskAddress(url: string): string {
  const { origin, pathname, search, hash } = new URL(url)
  const secret = `${pathname}${search}${hash}`
  const end = secret.length >= SECRET_LETTERS_MIN ? secret.slice(-SHOWN_LETTERS) : ''
  return `${origin}/…${end}`
}
