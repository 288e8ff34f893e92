/** An OpenID provider as a sign-in port: discovery, authorization request and code exchange. */
import type { ClientAuth, Configuration, CustomFetch, IDToken, UserInfoResponse } from 'openid-client'
import { SignInRefused, SignInUnavailable } from '../../contracts/sign-in-errors.ts'
import type { ProvenPerson, SignInProvider } from '../../cores/identity/sign-in-provider.ts'

const DISCOVERY_CACHE_MS = 60 * 60 * 1000

export type OpenIdOptions = {
  now?: () => number
  /** The user is looking at a blank page during each of these requests. */
  requestSeconds?: number
  /** For all requests to the provider, which may have to go through a proxy. */
  fetch?: typeof globalThis.fetch
}

type OpenIdClient = {
  name: string
  title: string
  /** The issuer that the discovery document must name. */
  issuer: URL
  /** Of a provider with an issuer for each tenant; left out, it has the one. */
  issuerOf?: SignInProvider['issuerOf']
  /** Where the discovery document is fetched, if not at the issuer's origin. */
  discoveryOrigin?: URL
  clientId: string
  clientSecret: string
  scopes: readonly string[]
  /** Reads the person out of claims whose signature, issuer, audience, time and nonce have been checked. */
  personFrom: (
    claims: IDToken,
    askUserInfo: () => Promise<UserInfoResponse | undefined>,
  ) => Omit<ProvenPerson, 'provider'> | Promise<Omit<ProvenPerson, 'provider'>>
}

export function openIdProvider(
  client: OpenIdClient,
  { now = Date.now, requestSeconds = 5, fetch = globalThis.fetch }: OpenIdOptions = {},
): SignInProvider {
  // Fetched on the first sign-in, not at start: a provider that is down must not prevent the server from starting.
  const configuration = cacheFor(DISCOVERY_CACHE_MS, now, () => discover(client, requestSeconds, fetch))

  return {
    name: client.name,
    title: client.title,
    issuerOf: client.issuerOf ?? ((tenant) => (tenant === undefined ? client.issuer.href : undefined)),

    async begin(redirectUri, { chooseAccount = false } = {}) {
      const openid = await import('openid-client')
      const config = await configuration()
      const secrets = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        codeVerifier: openid.randomPKCECodeVerifier(),
      }
      const parameters = {
        redirect_uri: redirectUri.href,
        scope: client.scopes.join(' '),
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(secrets.codeVerifier),
        code_challenge_method: 'S256',
        // OpenID Connect Core, 3.1.2.1.
        ...(chooseAccount && { prompt: 'select_account' }),
      }
      try {
        return { url: openid.buildAuthorizationUrl(config, parameters), ...secrets }
      } catch (error) {
        throw new SignInUnavailable(`authorization endpoint: ${describe(error)}`)
      }
    },

    async finish(callbackUrl, { state, nonce, codeVerifier, redirectUri }) {
      const openid = await import('openid-client')
      const config = await configuration()
      // Only the query is read from the callback. The redirect URI sent to the token endpoint is the one we sent
      // before (RFC 6749 section 4.1.3): behind a proxy the request has another URL.
      const answer = new URL(redirectUri)
      answer.search = callbackUrl.search
      try {
        const tokens = await openid.authorizationCodeGrant(config, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims) throw new SignInRefused('no id token')
        const askUserInfo = async () =>
          config.serverMetadata().userinfo_endpoint === undefined
            ? undefined
            : openid.fetchUserInfo(config, tokens.access_token, claims.sub)
        return { provider: client.name, ...(await client.personFrom(claims, askUserInfo)) }
      } catch (error) {
        throw asSignInError(error)
      }
    },
  }
}

async function discover(
  client: OpenIdClient,
  requestSeconds: number,
  fetch: typeof globalThis.fetch,
): Promise<Configuration> {
  const openid = await import('openid-client')
  const { issuer, discoveryOrigin, clientId, clientSecret } = client
  const post = openid.ClientSecretPost(clientSecret)
  const basic = openid.ClientSecretBasic(clientSecret)
  // The default is Basic (OpenID Connect Discovery section 3). Post is preferred where both are supported: servers
  // disagree about the percent-encoding that RFC 6749 section 2.3.1 requires for Basic.
  const authenticate: ClientAuth = (server, ...request) =>
    server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
      ? post(server, ...request)
      : basic(server, ...request)

  try {
    return await openid.discovery(issuer, clientId, undefined, authenticate, {
      timeout: requestSeconds,
      [openid.customFetch]: requestsOf(fetch, discoveryOrigin && { there: discoveryOrigin, issuer }),
      execute: [
        // Without it the library relies on TLS and does not check the signature of id tokens.
        openid.enableNonRepudiationChecks,
        ...(isPlainLoopback(discoveryOrigin ?? issuer) ? [openid.allowInsecureRequests] : []),
      ],
    })
  } catch (error) {
    throw new SignInUnavailable(`discovery: ${describe(error)}`)
  }
}

/** With another origin for the documents of the issuer, where it has one. */
function requestsOf(
  fetch: typeof globalThis.fetch,
  moved: { there: URL; issuer: URL } | undefined,
): CustomFetch {
  const here = moved && `${moved.issuer.origin}/`
  return (url, options) =>
    fetch(
      moved && url.startsWith(here!) ? new URL(url.slice(here!.length), moved.there) : url,
      options as RequestInit,
    )
}

/** Http without TLS is only for a provider on this machine. */
function isPlainLoopback({ protocol, hostname }: URL) {
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
}

/** Caches a result for a while, shares it between concurrent callers, and does not cache a failure. */
function cacheFor<T>(milliseconds: number, now: () => number, make: () => Promise<T>): () => Promise<T> {
  let cached: { result: Promise<T>; until: number } | undefined
  return () => {
    if (cached && now() < cached.until) return cached.result
    const fresh = { result: make(), until: now() + milliseconds }
    cached = fresh
    fresh.result.catch(() => {
      if (cached === fresh) cached = undefined
    })
    return fresh.result
  }
}

/**
 * The library's errors carry codes, tokens and claims in `cause`. They are replaced here, so that a logger that
 * follows causes cannot log them.
 */
function asSignInError(error: unknown): SignInRefused | SignInUnavailable {
  if (error instanceof SignInRefused || error instanceof SignInUnavailable) return error
  return isOutage(error) ? new SignInUnavailable(describe(error)) : new SignInRefused(describe(error))
}

function isOutage(error: unknown): boolean {
  const { code, status } = detailsOf(error)
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM') return true
  if (typeof status === 'number' && status >= 500) return true
  // Node's fetch without a connection.
  return error instanceof TypeError && error.message === 'fetch failed'
}

/** Only fixed messages and codes of the library; `error` comes from a URL that anybody can write. */
function describe(error: unknown): string {
  const { code, error: answered, cause } = detailsOf(error)
  for (const { name, message } of [detailsOf(cause), detailsOf(error)]) {
    if (name === 'OperationProcessingError' || name === 'UnsupportedOperationError') return String(message)
  }
  const codes = [code, answered, detailsOf(cause).code].filter(
    (word) => typeof word === 'string' && /^\w{1,60}$/.test(word),
  )
  return codes.join(' ') || 'unknown failure'
}

function detailsOf(error: unknown): Record<string, unknown> {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
}

/** A claim as a string: providers omit claims, or send them empty or as other types. */
export const textOf = (claim: unknown): string | null =>
  typeof claim === 'string' && claim !== '' ? claim : null
