/** Redirect URIs: which ones a client may register, and which registered one a request matches. */

export type LoopbackPorts = 'portless' | 'exact' | 'any'

const MAX_LENGTH = 2000

/** What a URI is made of (RFC 3986 section 2) but `*`: no space, control or bidirectional character, no backslash. */
const CHARACTERS = /^[\w\-.~:/?#[\]@!$&'()+,;=%]+$/

/** They run or show their content instead of redirecting; not even the operator's list may contain one. */
const UNSAFE_SCHEME =
  /^(?:javascript|vbscript|data|blob|file|filesystem|about|view-source|ws|wss|ftp|mailto):/i

/** RFC 8252 section 7.3, and `localhost`, because clients use it. Compared as written: nothing else means loopback. */
const LOOPBACK =
  /^http:\/\/(?<host>127\.0\.0\.1|\[::1\]|localhost)(?::(?<port>[1-9]\d{0,4}))?(?<rest>[/?].*)?$/s

/** Why a client may not register this redirect URI; undefined when it may. */
export function redirectUriProblem(uri: string, privateUris: readonly string[]): string | undefined {
  if (uri.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`
  if (uri.includes('*')) return 'must not contain a wildcard'
  if (!CHARACTERS.test(uri)) return 'contains a character that no URI may contain'
  if (uri.includes('#')) return 'must not have a fragment'
  const url = URL.parse(uri)
  if (!url) return 'is not an absolute URI'
  if (UNSAFE_SCHEME.test(uri)) return 'has a scheme that cannot receive an answer'
  switch (url.protocol) {
    case 'https:':
      return authorityProblem(uri, url)
    case 'http:':
      return LOOPBACK.test(uri) ? undefined : 'must be https, or http on 127.0.0.1, [::1] or localhost'
    default:
      return privateUris.includes(uri) ? undefined : 'has a private-use scheme that this server does not know'
  }
}

/** The host must be spelled as it is parsed. `https:\\a`, `https:a`, `https://a@b`, `https://%61` and `https://1` are not. */
function authorityProblem(uri: string, url: URL): string | undefined {
  const written = /^https:\/\/(?<authority>[^/?]+)/i.exec(uri)?.groups?.authority?.toLowerCase()
  if (written?.includes('@')) return 'must not name a user'
  return written === url.host || written === `${url.host}:443` ? undefined : 'has an unusual host'
}

/**
 * Byte for byte, as the contract requires. The exception is the port of a program on the user's own computer, which
 * uses whichever is free (RFC 8252 section 7.3): a client that registered none may use any.
 */
export function redirectUriMatches(
  registered: readonly string[],
  value: string,
  ports: LoopbackPorts,
): boolean {
  if (registered.includes(value)) return true
  const requested = loopbackParts(value)
  if (ports === 'exact' || !requested) return false
  return registered.some((uri) => {
    const known = loopbackParts(uri)
    return (
      known !== undefined &&
      known.host === requested.host &&
      known.rest === requested.rest &&
      (ports === 'any' || known.port === undefined)
    )
  })
}

/** Whether a page of this origin is one that the client sends people back to. Those of private schemes have none. */
export function isRedirectOrigin(
  registered: readonly string[],
  origin: string,
  ports: LoopbackPorts,
): boolean {
  const origins = registered.map((uri) => URL.parse(uri)?.origin).filter((one) => one !== undefined)
  return origin !== 'null' && redirectUriMatches(origins, origin, ports)
}

type LoopbackParts = { host?: string; port?: string; rest?: string }

function loopbackParts(uri: string): LoopbackParts | undefined {
  const parts: LoopbackParts | undefined = LOOPBACK.exec(uri)?.groups
  return Number(parts?.port ?? 1) <= 65_535 ? parts : undefined
}

/** A loopback URI without its port, which then matches any; everything else as it is. */
export function withoutLoopbackPort(uri: string): string {
  const parts = loopbackParts(uri)
  return parts ? `http://${parts.host}${parts.rest ?? ''}` : uri
}

/** What the consent page shows of a redirect URI: its host, or the scheme (`cursor:`) of a private-use one. */
export function redirectHost(uri: string): string {
  const { protocol, host } = new URL(uri)
  return isWeb(protocol) ? host : protocol
}

/**
 * Whether any program on the user's computer could receive the redirect. Wider than what may be registered with http,
 * because it decides about warnings and about skipping the page.
 */
export function isLoopbackRedirect(uri: string): boolean {
  const { protocol, hostname } = new URL(uri)
  return isWeb(protocol) && /^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost\.?)$/.test(hostname)
}

const isWeb = (protocol: string): boolean => protocol === 'https:' || protocol === 'http:'
