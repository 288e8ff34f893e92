/** A company's identity provider: discovery and keys over TLS on a document host, and token exchange (RFC 8693). */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose'
import type { DocumentHost } from './document-host.ts'
import { unique } from './make.ts'
import type { TestSystem } from './system.ts'

export type Claims = Record<string, unknown>

export type MockProvider = Awaited<ReturnType<typeof openMockProvider>>

const ID_JAG = 'oauth-id-jag+jwt'
const ID_JAG_TOKEN = 'urn:ietf:params:oauth:token-type:id-jag'
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

type SigningKey = { readonly kid: string; readonly alg: string; readonly key: CryptoKey; readonly jwk: JWK }

export async function newKey(alg = 'ES256', kid = unique('key')): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** `people` are its users by their id tokens: what it says of each. */
export async function openMockProvider(
  system: Pick<TestSystem, 'clock'>,
  host: DocumentHost,
  audience: string,
) {
  const path = `/${unique('provider')}`
  const issuer = host.origin + path
  const jwksUri = `${issuer}/keys`
  const people = new Map<string, Claims>()
  let key = await newKey()

  const publish = (...keys: readonly { jwk: JWK }[]) =>
    void host.put(`${path}/keys`, { keys: keys.map(({ jwk }) => jwk) })
  publish(key)

  const claimsFor = (claims: Claims): Claims => {
    const now = Math.floor(system.clock.now().getTime() / 1000)
    const usual = { iss: issuer, aud: audience, jti: unique('jti'), iat: now, exp: now + 300 }
    return Object.fromEntries(
      Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
    )
  }

  /** An assertion; undefined leaves a claim or a member of the header out. */
  async function sign(
    claims: Claims,
    {
      header = {},
      by = key,
    }: { header?: Claims; by?: Pick<SigningKey, 'alg' | 'kid'> & { key: CryptoKey | Uint8Array } } = {},
  ): Promise<string> {
    const whole = Object.fromEntries(
      Object.entries({ alg: by.alg, kid: by.kid, typ: ID_JAG, ...header }).filter(
        ([, value]) => value !== undefined,
      ),
    )
    return new SignJWT(claimsFor(claims)).setProtectedHeader(whole as { alg: string }).sign(by.key)
  }

  const server = createServer((incoming, outgoing) => {
    void answer(incoming).then(({ status, body }) =>
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: jwksUri,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    grant_types_supported: [TOKEN_EXCHANGE],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
  }
  host.put(`${path}/.well-known/openid-configuration`, metadata)
  host.put(`/.well-known/oauth-authorization-server${path}`, metadata)

  async function answer(incoming: IncomingMessage): Promise<{ status: number; body: object }> {
    if (incoming.url?.includes('/.well-known/')) return { status: 200, body: metadata }
    if (incoming.url !== `${path}/token`) return { status: 404, body: {} }
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const form = new URLSearchParams(text)
    const person = people.get(form.get('subject_token') ?? '')
    const isAsked =
      form.get('grant_type') === TOKEN_EXCHANGE && form.get('requested_token_type') === ID_JAG_TOKEN
    if (!isAsked || !person) return { status: 400, body: { error: 'invalid_grant' } }
    const client_id = form.get('client_id') ?? basicUser(incoming)
    const access_token = await sign({
      ...person,
      aud: form.get('audience'),
      client_id,
      scope: form.get('scope') ?? undefined,
      resource: form.get('resource') ?? undefined,
    })
    const issued = { issued_token_type: ID_JAG_TOKEN, token_type: 'N_A', expires_in: 300 }
    return { status: 200, body: { ...issued, access_token } }
  }

  return {
    issuer,
    jwksUri,
    /** How often its keys were asked for. */
    keyReads: () => host.hits(`${path}/keys`),
    keysAt: (answered: Parameters<DocumentHost['put']>[1]) => void host.put(`${path}/keys`, answered),
    publish,
    sign,
    unsecured: (claims: Claims) => new UnsecuredJWT(claimsFor(claims)).encode(),
    claimsFor,
    get key() {
      return key
    },
    /** From now on it signs with another key, and publishes that one alone. */
    async rotate(): Promise<void> {
      key = await newKey()
      publish(key)
    },
    /** Signs somebody in: the id token that their assistant holds. */
    signIn(claims: Claims): string {
      const token = unique('id-token')
      people.set(token, claims)
      return token
    },
    /** As clients of it reach it: under its own name. */
    fetch: async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const url = new URL(input instanceof Request ? input.url : input)
      return fetch(url.origin === host.origin ? base + url.pathname + url.search : input, init)
    },
    close: () => void server.close(),
  }
}

function basicUser({ headers }: IncomingMessage): string {
  const [, encoded = ''] = (headers.authorization ?? '').split(' ')
  return decodeURIComponent(Buffer.from(encoded, 'base64').toString().split(':')[0] ?? '')
}
