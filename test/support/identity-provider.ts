/** A real OpenID provider on loopback that plays Google, Microsoft or any other; it misbehaves if told. */
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import Provider, {
  interactionPolicy,
  type Adapter,
  type AdapterPayload,
  type Configuration,
  type KoaContextWithOIDC,
} from 'oidc-provider'

export type ProviderKind = 'google' | 'microsoft' | 'oidc'

/** Claims as the provider states them; `sub`, and at Microsoft `tid` and `oid`, are made up if left out. */
export type PersonAtProvider = Record<string, unknown> & { sub?: string }

export type Misbehavior = {
  /** Replaces claims of the id token before it is signed; undefined takes one away. */
  idToken?: Record<string, unknown>
  signature?: 'foreign-key' | 'none' | 'client-secret'
  /** The code is dead by the time it is handed in. */
  code?: 'expired'
  /** The person presses "Cancel". */
  answer?: 'access_denied'
  /** Takes connections and says nothing, or answers everything with an error page. */
  outage?: 'silence' | 'error-page'
}

export type IdentityProvider = {
  /** Where the provider lives, without a path: what google and microsoft are configured with. */
  authority: string
  /** What any other provider is configured with. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Whoever comes next is this person. */
  signInWithProvider(key: string): void
  registerRedirect(uri: URL | string): void
  /** Until told otherwise; `misbehave({})` ends it. */
  misbehave(how: Misbehavior): void
  /** Does what a browser would: follows redirects with cookies until one leads away from the provider. */
  walk(url: URL): Promise<URL>
  requests: { method: string; path: string; authorization: string | null }[]
  close(): Promise<void>
}

export const HOME_TENANT = 'c0ffee00-2222-4333-8444-555555555555'
export const PRIVATE_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'

export async function startIdentityProvider({
  kind,
  people,
}: {
  kind: ProviderKind
  people: Record<string, PersonAtProvider>
}): Promise<IdentityProvider> {
  // The port must be known before the provider is built: its address is in everything it says.
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const authority = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const everybody = new Map(
    Object.entries(people).map(([key, claims]) => [key, completed(kind, key, claims)]),
  )
  const redirects = new Set<string>()
  const requests: IdentityProvider['requests'] = []
  const clientId = `client-${randomUUID()}`
  // Characters that a client must encode in a Basic header.
  const clientSecret = `${randomBytes(24).toString('base64')}:%+/`
  let present = Object.keys(people)[0] ?? ''
  let misbehavior: Misbehavior = {}

  // ES256 where the real ones sign with RS256: a suite would feel the time an RSA key takes to make.
  const keys = await generateKeyPair('ES256', { extractable: true })
  const foreignKeys = await generateKeyPair('ES256')
  const signing = { ...(await exportJWK(keys.privateKey)), alg: 'ES256', use: 'sig', kid: 'signing' }

  const provider = new Provider(authority, {
    ...SETTINGS,
    adapter: inMemory(() => ({
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [...redirects],
      response_types: ['code'],
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: AUTH_METHODS[kind][0],
      id_token_signed_response_alg: 'ES256',
    })),
    clientAuthMethods: AUTH_METHODS[kind],
    // Google and Microsoft put what they know into the id token; others may keep it for userinfo.
    conformIdTokenClaims: kind === 'oidc',
    jwks: { keys: [signing] },
    cookies: { keys: [randomUUID()] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, ...[...everybody.values()].find((person) => person.sub === sub) }),
    }),
    interactions: {
      policy: askEveryTime(),
      url: (context, { uid }) => new URL(`interaction/${uid}`, context.oidc.urlFor('authorization')).pathname,
    },
  })

  provider.use(async (context, next) => {
    await next()
    const { route } = (context as KoaContextWithOIDC).oidc ?? {}
    if (route === 'discovery' && kind === 'microsoft')
      speakLikeMicrosoft(context.body as Record<string, unknown>)
    if (route === 'token') await retouchIdToken(context.body as { id_token?: string })
    if (route === 'resume') await retouchRedirect(context as KoaContextWithOIDC)

    function speakLikeMicrosoft(document: Record<string, unknown>) {
      document.issuer = `${authority}/${issuerSegment(tenantOf(context.req))}/v2.0`
      delete document.authorization_response_iss_parameter_supported
    }
  })

  async function retouchIdToken(body: { id_token?: string }) {
    if (body.id_token === undefined) return
    const honest = decodeJwt(body.id_token)
    if (kind === 'microsoft') honest.iss = `${authority}/${String(honest.tid)}/v2.0`
    body.id_token = await signed({ ...honest, ...misbehavior.idToken })
  }

  function signed(claims: JWTPayload): Promise<string> | string {
    const token = (header: { alg: string }) =>
      new SignJWT(claims).setProtectedHeader({ ...header, kid: signing.kid })
    switch (misbehavior.signature) {
      case 'none':
        return new UnsecuredJWT(claims).encode()
      case 'foreign-key':
        return token({ alg: 'ES256' }).sign(foreignKeys.privateKey)
      case 'client-secret':
        return token({ alg: 'HS256' }).sign(Buffer.from(clientSecret))
      case undefined:
      default:
        return token({ alg: 'ES256' }).sign(keys.privateKey)
    }
  }

  async function retouchRedirect(context: KoaContextWithOIDC) {
    const callback = new URL(context.response.get('location'))
    if (kind === 'microsoft') callback.searchParams.delete('iss')
    const code = callback.searchParams.get('code')
    // To the token endpoint a code that is gone and one that ran out are the same `invalid_grant`.
    if (misbehavior.code === 'expired' && code) await (await provider.AuthorizationCode.find(code))?.destroy()
    context.response.set('location', callback.href)
  }

  async function answer(request: IncomingMessage & { originalUrl?: string }, response: ServerResponse) {
    const path = request.url ?? '/'
    requests.push({
      method: request.method ?? '',
      path,
      authorization: request.headers.authorization ?? null,
    })
    if (misbehavior.outage === 'silence') return
    if (misbehavior.outage === 'error-page') {
      response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Back soon</h1>')
      return
    }
    if (kind === 'microsoft') {
      // Mounted as express would do it, so that the provider puts the tenant's segment into its addresses.
      request.originalUrl = path
      request.url = path.replace(/^\/[^/]+\/v2\.0/, '')
    }
    if (request.url?.startsWith('/interaction/')) await signInPresentPerson(request, response)
    else await provider.callback()(request, response)
  }

  async function signInPresentPerson(request: IncomingMessage, response: ServerResponse) {
    const { params } = await provider.interactionDetails(request, response)
    if (misbehavior.answer) {
      await provider.interactionFinished(request, response, { error: misbehavior.answer })
      return
    }
    const accountId = everybody.get(present)?.sub
    if (accountId === undefined) throw new Error('There is nobody to sign in')
    const grant = new provider.Grant({ accountId, clientId })
    grant.addOIDCScope(String(params.scope))
    await provider.interactionFinished(request, response, {
      login: { accountId, remember: false },
      select_account: {},
      consent: { grantId: await grant.save() },
    })
  }

  return {
    authority,
    issuer: kind === 'microsoft' ? `${authority}/${HOME_TENANT}/v2.0` : authority,
    clientId,
    clientSecret,
    requests,
    signInWithProvider(key) {
      if (!everybody.has(key)) throw new Error(`Nobody here is called ${key}`)
      present = key
    },
    registerRedirect: (uri) => void redirects.add(String(uri)),
    misbehave: (how) => void (misbehavior = how),
    walk: (url) => walk(url, authority),
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((closed) => server.close(closed))
    },
  }
}

/** Each kind authenticates its clients differently, so that every way is walked. */
const AUTH_METHODS = {
  google: ['client_secret_post', 'client_secret_basic'],
  microsoft: ['client_secret_post'],
  oidc: ['client_secret_basic'],
} as const satisfies Record<ProviderKind, readonly string[]>

const SETTINGS = {
  responseTypes: ['code'],
  claims: {
    openid: ['sub', 'tid', 'oid', 'xms_edov', 'verified_primary_email'],
    email: ['email', 'email_verified', 'hd'],
    profile: ['name', 'preferred_username'],
  },
  enabledJWA: { idTokenSigningAlgValues: ['ES256', 'HS256'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
  clientBasedCORS: () => false,
  // Named only because the library prints a notice for every lifetime that is left to it.
  ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Grant: 60, Interaction: 60, Session: 60 },
  renderError: (context, out) => {
    context.body = out
  },
} satisfies Configuration

function completed(kind: ProviderKind, key: string, claims: PersonAtProvider) {
  const made = {
    google: () => workspaceOf(claims.email),
    microsoft: () => ({ tid: HOME_TENANT, oid: randomUUID(), preferred_username: `${key}@label.example` }),
    oidc: () => ({}),
  }
  return { ...made[kind](), ...claims, sub: claims.sub ?? key }
}

/** An account on a company's address is a Workspace account unless `hd: null` says otherwise. */
function workspaceOf(email: unknown): PersonAtProvider {
  const domain = typeof email === 'string' ? email.split('@')[1] : undefined
  return domain === undefined || domain === 'gmail.com' ? {} : { hd: domain }
}

function tenantOf(request: IncomingMessage & { originalUrl?: string }): string {
  return request.originalUrl?.split('/')[1] ?? ''
}

/** Microsoft's shared endpoints name no tenant in their issuer; the one for private accounts names theirs. */
function issuerSegment(tenant: string): string {
  if (tenant === 'common' || tenant === 'organizations') return '{tenantid}'
  return tenant === 'consumers' ? PRIVATE_TENANT : tenant
}

/** The provider's own session never answers: whoever signInAs named last is who signs in. */
function askEveryTime() {
  const policy = interactionPolicy.base()
  const login = policy.get('login')
  login?.checks.clear()
  login?.checks.add(
    new interactionPolicy.Check('present_person', 'a person must sign in', (context) =>
      context.oidc.result?.login
        ? interactionPolicy.Check.NO_NEED_TO_PROMPT
        : interactionPolicy.Check.REQUEST_PROMPT,
    ),
  )
  // Others may choose among accounts; this one has one person at a time.
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }))
  return policy
}

function inMemory(client: () => AdapterPayload): (model: string) => Adapter {
  const stored = new Map<string, AdapterPayload>()
  const find = (test: (payload: AdapterPayload, key: string) => boolean) =>
    [...stored].find(([key, payload]) => test(payload, key))?.[1]
  return (model) => ({
    upsert: async (id, payload) => void stored.set(`${model}:${id}`, payload),
    find: async (id) => (model === 'Client' ? client() : stored.get(`${model}:${id}`)),
    findByUid: async (uid) => find((payload, key) => key.startsWith(`${model}:`) && payload.uid === uid),
    findByUserCode: async () => undefined,
    consume: async (id) => {
      const payload = stored.get(`${model}:${id}`)
      if (payload) payload.consumed = true
    },
    destroy: async (id) => void stored.delete(`${model}:${id}`),
    revokeByGrantId: async (grantId) => {
      for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key)
    },
  })
}

async function walk(url: URL, authority: string): Promise<URL> {
  const jar = new Map<string, string>()
  for (let hop = 0; url.origin === authority; hop++) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      jar.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null || hop > 10) {
      throw new Error(`The walk ended at ${url.pathname}: ${response.status} ${await response.text()}`)
    }
    url = new URL(location, url)
  }
  return url
}
