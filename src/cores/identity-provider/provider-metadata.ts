/** The metadata that an issuer publishes about itself: where its keys are. */
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
  let problem = 'its metadata could not be fetched'
  for (const address of addressesOf(issuer)) {
    const read = await readAt(guardedFetch, address, issuer)
    if ('jwksUri' in read) return read
    // What a document says of itself is worth more than that another one is missing.
    if (read.problem !== undefined) problem = read.problem
  }
  return { problem }
}

async function readAt(
  guardedFetch: GuardedFetch,
  address: string,
  issuer: string,
): Promise<{ jwksUri: string } | { problem: string | undefined }> {
  const { bytes: maxBytes, ms: deadlineMs } = METADATA
  const headers = { accept: 'application/json' }
  const answer = await guardedFetch(address, { headers, maxBytes, deadlineMs }).catch(() => undefined)
  if (answer?.status !== 200) return { problem: undefined }
  const document = parse(answer.body)
  if (!document) return { problem: 'its metadata is not a JSON object' }
  // OpenID Connect Discovery 4.3, RFC 8414 3.3: exactly the one that was asked for.
  if (document.issuer !== issuer)
    return { problem: `its metadata is of the issuer ${shown(document.issuer)}` }
  if (!isKeyAddress(document.jwks_uri)) return { problem: 'its metadata has no https jwks_uri' }
  return { jwksUri: document.jwks_uri }
}

function parse(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const document: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) {
      return document as Record<string, unknown>
    }
  } catch {
    // Falls through to the same answer.
  }
  return undefined
}

const isKeyAddress = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= ADDRESS_MAX &&
  /^https:\/\/[\x21-\x7e]+$/.test(value) &&
  URL.canParse(value)

/** Somebody else's text, on our pages. */
const shown = (value: unknown): string =>
  typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : 'unknown'
