/** The metadata that an issuer publishes about itself: where its keys are. */
import { whyUnfetched } from '../../contracts/unfetched.ts'
import { readUtf8JsonObject } from '../../contracts/read-json.ts'
import type { GuardedFetch } from '../dependencies.ts'

const METADATA = { bytes: 64 * 1024, ms: 2_500 }
const ADDRESS_MAX = 1024

export type ProviderMetadata = { readonly jwksUri: string } | { readonly problem: string }

/** OpenID Connect Discovery, and RFC 8414 for issuers that are no OpenID providers. */
function addressesOf(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

export async function readProviderMetadata(
  guardedFetch: GuardedFetch,
  issuer: string,
): Promise<ProviderMetadata> {
  let problem = ''
  for (const address of addressesOf(issuer)) {
    const read = await readAt(guardedFetch, address, issuer)
    if ('jwksUri' in read) return read
    // What a document says of itself is worth more than that another one is missing, and the first address more than the second.
    if (read.isOfDocument || problem === '') problem = read.problem
  }
  return { problem }
}

async function readAt(
  guardedFetch: GuardedFetch,
  address: string,
  issuer: string,
): Promise<{ jwksUri: string } | { problem: string; isOfDocument: boolean }> {
  const { bytes: maxBytes, ms: deadlineMs } = METADATA
  const headers = { accept: 'application/json' }
  const answer = await guardedFetch(address, { headers, maxBytes, deadlineMs }).catch(whyUnfetched)
  const missing = (why: string) => ({
    problem: `its metadata could not be fetched: ${why}`,
    isOfDocument: false,
  })
  if (typeof answer === 'string') return missing(answer)
  if (answer.status !== 200) return missing(`it answered with the status ${answer.status}`)
  const document = readUtf8JsonObject(answer.body)
  const wrong = (problem: string) => ({ problem, isOfDocument: true })
  if (!document) return wrong('its metadata is not a JSON object')
  // OpenID Connect Discovery 4.3, RFC 8414 3.3: exactly the one that was asked for.
  if (document.issuer !== issuer) return wrong(`its metadata is of the issuer ${shown(document.issuer)}`)
  if (!isKeyAddress(document.jwks_uri)) return wrong('its metadata has no https jwks_uri')
  return { jwksUri: document.jwks_uri }
}

const isKeyAddress = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= ADDRESS_MAX &&
  /^https:\/\/[\x21-\x7e]+$/.test(value) &&
  URL.canParse(value)

/** Somebody else's text, on our pages. */
const shown = (value: unknown): string =>
  typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : 'unknown'
