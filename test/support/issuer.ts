/** The identity provider of an organization: metadata and keys on a document host, assertions, and token exchange (RFC 8693). */
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose'
import type { DocumentHost } from './document-host.ts'
import { unique, type Person } from './make.ts'
import type { TestSystem } from './system.ts'

export type Claims = Record<string, unknown>

export type Issuer = Awaited<ReturnType<typeof makeIssuer>>

const ID_JAG = 'oauth-id-jag+jwt'
const ID_JAG_TOKEN = 'urn:ietf:params:oauth:token-type:id-jag'
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

type SigningKey = { readonly kid: string; readonly alg: string; readonly key: CryptoKey; readonly jwk: JWK }

export async function newKey(alg = 'ES256', kid = unique('key')): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

const defined = (members: Claims): Claims =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** Under a path of the host, so that one host is many of them. */
export async function makeIssuer(system: Pick<TestSystem, 'clock' | 'system'>, host: DocumentHost) {
  const path = `/${unique('idp')}`
  const [issuer, keysPath] = [host.origin + path, `${path}/keys`]
  /** What it says of its people, by their id tokens. */
  const people = new Map<string, Claims>()
  let key = await newKey()

  const metadata = {
    issuer,
    jwks_uri: host.origin + keysPath,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    grant_types_supported: [TOKEN_EXCHANGE],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
  }
  const putMetadata = (changes: Claims = {}) =>
    void host.put(`${path}/.well-known/openid-configuration`, { ...metadata, ...changes })
  putMetadata()

  const keysAt = (answered: Parameters<DocumentHost['put']>[1]) => void host.put(keysPath, answered)
  const publish = (...keys: readonly { jwk: JWK }[]) => keysAt({ keys: keys.map(({ jwk }) => jwk) })
  publish(key)

  const claimsFor = (claims: Claims): Claims => {
    const now = Math.floor(system.clock.now().getTime() / 1000)
    const aud = system.system.config.AUTH_URL.origin
    return defined({ iss: issuer, aud, jti: unique('jti'), iat: now, exp: now + 300, ...claims })
  }

  /** An assertion; undefined leaves a claim or a member of the header out. */
  async function sign(
    claims: Claims,
    {
      header = {},
      by = key,
    }: { header?: Claims; by?: Pick<SigningKey, 'alg' | 'kid'> & { key: CryptoKey | Uint8Array } } = {},
  ): Promise<string> {
    const whole = defined({ alg: by.alg, kid: by.kid, typ: ID_JAG, ...header })
    return new SignJWT(claimsFor(claims)).setProtectedHeader(whole as { alg: string }).sign(by.key)
  }

  const subjectOf = ({ email }: Pick<Person, 'email'>) => `at-provider|${email}`

  async function exchanged(form: URLSearchParams): Promise<Response> {
    const person = people.get(form.get('subject_token') ?? '')
    const isAsked =
      form.get('grant_type') === TOKEN_EXCHANGE && form.get('requested_token_type') === ID_JAG_TOKEN
    if (!isAsked || !person) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const access_token = await sign({
      ...person,
      aud: form.get('audience'),
      client_id: form.get('client_id'),
      scope: form.get('scope') ?? undefined,
      resource: form.get('resource') ?? undefined,
    })
    const issued = { issued_token_type: ID_JAG_TOKEN, token_type: 'N_A', expires_in: 300 }
    return Response.json({ ...issued, access_token })
  }

  return {
    issuer,
    keysPath,
    jwksUri: host.origin + keysPath,
    putMetadata,
    /** How often its keys were asked for. */
    keyReads: () => host.hits(keysPath),
    keysAt,
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
    /** What it calls them. */
    subjectOf,
    /** One for a person, with their address; `changes` go over its claims. */
    assertionFor: (person: Pick<Person, 'email'>, changes: Claims = {}, header: Claims = {}) =>
      sign(
        {
          sub: subjectOf(person),
          client_id: 'an-assistant',
          email: person.email,
          email_verified: true,
          ...changes,
        },
        { header },
      ),
    /** Signs somebody in: the id token that their assistant holds. */
    signIn(claims: Claims): string {
      const token = unique('id-token')
      people.set(token, claims)
      return token
    },
    /** As clients of it reach it: under its own name. */
    fetch: async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init)
      if (request.url.includes('/.well-known/')) return Response.json(metadata)
      return request.url === metadata.token_endpoint
        ? exchanged(new URLSearchParams(await request.text()))
        : new Response(null, { status: 404 })
    },
  }
}
