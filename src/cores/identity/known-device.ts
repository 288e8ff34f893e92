/**
 * Devices that have signed in with a password before have a bucket of their own for wrong ones, so that others who guess
 * at an address cannot lock its owner out (OWASP: device cookies). A device keeps one signed value per address.
 */
import { keyedHash, randomSecret, sameSecret } from '../../trust/keyed-hash.ts'
import type { Keys } from '../dependencies.ts'

const SEPARATOR = '~'
/** People share a device; more addresses than these are somebody collecting. */
const ADDRESSES_MAX = 5

const signature = (deps: Keys, id: string, email: string): string =>
  keyedHash(deps.keyFor('device'), `${id}:${email}`)

/** The id under which this device counts for this address; undefined when it never signed in with it. */
export function findKnownDevice(deps: Keys, email: string, cookie: string | undefined): string | undefined {
  for (const value of valuesOf(cookie)) {
    const [id = '', given = ''] = value.split('.')
    if (sameSecret(signature(deps, id, email), given)) return id
  }
  return undefined
}

/** The cookie with this address in it. */
export function rememberDevice(deps: Keys, email: string, cookie: string | undefined): string {
  const id = randomSecret()
  return [`${id}.${signature(deps, id, email)}`, ...valuesOf(cookie)].slice(0, ADDRESSES_MAX).join(SEPARATOR)
}

const valuesOf = (cookie: string | undefined): string[] =>
  cookie === undefined ? [] : cookie.split(SEPARATOR).slice(0, ADDRESSES_MAX)
