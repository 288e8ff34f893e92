/** The authorization server: every setting of the library, each with its reason. */
import { createHash, createPrivateKey, createSecretKey, timingSafeEqual } from 'node:crypto'
import Provider, {
  errors,
  interactionPolicy,
  type Configuration,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { DEFAULT_SCOPES, RESOURCE_SCOPES, RESOURCES, type Resource } from '../../src/contracts/scopes.ts'
import { fetchDocument, isSwitchedOff, keptDocument, mayBeDocument } from './metadata-documents.ts'
import type { ConnectorNeeds } from './needs.ts'
import { redirectUriMatches, redirectUriProblem } from './redirect-uri.ts'
import { storeFor } from './store.ts'

export const resourceUrl = (needs: ConnectorNeeds, resource: Resource): string =>
  `${needs.mcpUrl.origin}/${resource}`

/** Every spelling clients are seen to send: with a slash at the end, in capitals, or the bare origin (= /platform). */
export function resourceMeant(needs: ConnectorNeeds, spelled: string): Resource | undefined {
  const url = URL.parse(spelled)
  if (!url || url.hash || url.search || url.origin !== needs.mcpUrl.origin) return undefined
  const path = url.pathname.replace(/\/$/, '').slice(1)
  if (path === '') return 'platform'
  return RESOURCES.find((resource) => resource === path)
}

/** JWT_SIGNING_KEY is 32 random bytes, which is exactly an Ed25519 seed; PKCS #8 puts this in front of it. */
function ed25519Jwk(seedHex: string) {
  const der = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(seedHex, 'hex'),
  ])
  const jwk = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  return { ...jwk, alg: 'EdDSA', use: 'sig' }
}

export function createProvider(needs: ConnectorNeeds): Provider {
  const provider = new Provider(needs.issuer.origin, configuration(needs))
  // Safe: the door has overwritten every forwarded header before the library sees the request.
  provider.proxy = true
  const client = provider.Client.prototype as unknown as ClientRules
  client.redirectUriAllowed = function allowed(value) {
    return redirectUriMatches(this.redirectUris ?? [], value, needs.loopbackPorts)
  }
  client.compareClientSecret = function same(given) {
    const [actual, stored] = [
      createHash('sha256').update(given).digest(),
      Buffer.from(this.clientSecret ?? '', 'hex'),
    ]
    return actual.length === stored.length && timingSafeEqual(actual, stored)
  }
  return provider
}

type ClientRules = {
  redirectUris?: string[]
  clientSecret?: string
  redirectUriAllowed(this: ClientRules, value: string): boolean
  compareClientSecret(this: ClientRules, given: string): boolean
}

type Metadata = Record<string, unknown> & {
  redirect_uris?: unknown
  grant_types?: unknown
  client_name?: unknown
}

function configuration(needs: ConnectorNeeds): Configuration {
  const isSecure = needs.issuer.protocol === 'https:'
  const accessKey = createSecretKey(Buffer.from(needs.jwtSecret, 'hex'))
  /** The library resolves a client a second time when the first attempt failed: one outcome per request. */
  const outcomes = new WeakMap<object, Promise<unknown>>()
  const keySets = keySetCache(needs)

  return {
    adapter: storeFor(needs),
    clients: [],
    routes: {
      authorization: '/oauth/authorize',
      token: '/oauth/token',
      registration: '/oauth/register',
      revocation: '/oauth/revoke',
      jwks: '/oauth/jwks',
    },
    responseTypes: ['code'],
    // `openid` is absent: this is no identity provider. Resource scopes must not stand here, they belong to resources.
    scopes: ['offline_access'],
    claims: {},
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clientDefaults: {
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: 'EdDSA',
    },
    enabledJWA: {
      idTokenSigningAlgValues: ['EdDSA'],
      clientAuthSigningAlgValues: ['ES256', 'EdDSA', 'RS256', 'PS256'],
    },
    // Without a signing key every client is refused, although we sign no id token.
    jwks: { keys: [ed25519Jwk(needs.jwtSigningKey)] },
    // OAuth 2.1, 4.1.1: for everyone. `plain` does not exist in the library any more.
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    acceptQueryParamAccessTokens: false,
    cookies: {
      keys: [Buffer.from(needs.keyFor('oauth-cookies')).toString('base64url')],
      names: isSecure
        ? { session: '__Host-svc_as', interaction: '__Secure-svc_as_i', resume: '__Secure-svc_as_r' }
        : { session: 'svc_as', interaction: 'svc_as_i', resume: 'svc_as_r' },
      long: { httpOnly: true, sameSite: 'lax', secure: isSecure, path: '/', signed: true },
      short: { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true },
    },
    ttl: {
      AuthorizationCode: CONNECTOR_SECONDS.code,
      Interaction: CONNECTOR_SECONDS.consent,
      Session: CONNECTOR_SECONDS.consent,
      AccessToken: CONNECTOR_SECONDS.accessToken,
      RefreshToken: CONNECTOR_SECONDS.refreshToken,
      Grant: CONNECTOR_SECONDS.grant,
    },
    findAccount: async (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    interactions: { policy: everyTimeOurPage(), url: (_ctx, { uid }) => `/oauth/interaction/${uid}` },
    // Only what was approved in this very interaction counts.
    loadExistingGrant: async (ctx) => {
      const id = ctx.oidc.result?.consent?.grantId
      return id === undefined ? undefined : ctx.oidc.provider.Grant.find(id)
    },
    extraParams: { svc_scopes: dropUnknownScopes(needs) },
    // Not only with offline_access: clients that forget to ask for it would sign in every hour.
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    extraTokenClaims: async (_ctx, token) => ({
      grant_id: (token as { grantId?: string }).grantId,
      org_id: await organizationOf(needs, (token as { grantId?: string }).grantId),
    }),
    extraClientMetadata: {
      properties: ['svc_kind', 'svc_document_sha256'],
      validator: (ctx, key, _value, metadata) => {
        if (key === 'svc_kind') settleMetadata(needs, metadata, ctx !== undefined)
      },
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      claimsParameter: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpMetadataChoices: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      registration: {
        enabled: needs.registrationOpen,
        issueRegistrationAccessToken: false,
        idFactory: () => `dcr_${crypto.randomUUID()}`,
      },
      clientIdMetadataDocument: {
        // With exact loopback ports the clients that would use it could not come in, so it is not offered.
        enabled: needs.loopbackPorts !== 'exact',
        ack: 'draft-02',
        cacheDuration: { min: 0, max: 0 },
        async allowFetch(ctx: KoaContextWithOIDC | undefined, clientId: string) {
          if (!mayBeDocument(clientId) || (await isSwitchedOff(needs, clientId))) return false
          if (ctx?.oidc?.route !== 'authorization') return (await keptDocument(needs, clientId)) !== undefined
          const outcome = outcomes.get(ctx) ?? fetchDocument(needs, clientId)
          outcomes.set(ctx, outcome)
          await outcome
          return true
        },
        async allowClient(_ctx: unknown, client: { clientId: string }) {
          return !(await isSwitchedOff(needs, client.clientId))
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async (_ctx, _client, oneOf) => oneOf?.[0] ?? resourceUrl(needs, 'platform'),
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_ctx, spelled) => {
          const resource = resourceMeant(needs, spelled)
          if (!resource) throw new errors.InvalidTarget()
          return {
            scope: RESOURCE_SCOPES[resource].join(' '),
            audience: resourceUrl(needs, resource),
            accessTokenTTL: CONNECTOR_SECONDS.accessToken,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'HS256', key: accessKey, kid: 'svc-1' } },
          }
        },
      },
    },
    // Left as data: the door turns it into a page in our own clothes.
    renderError: async (ctx, said) => {
      ctx.type = 'json'
      ctx.body = said
    },
    fetchResponseBodyLimits: { 'client_id metadata document': 16_384, jwks_uri: 65_536 },
    // Documents come from what was fetched at the authorization; key sets of clients through the same guard.
    fetch: async (input) => {
      const url = input instanceof Request ? input.url : String(input)
      const kept = await keptDocument(needs, url)
      if (!kept) return keySets(url)
      return Response.json({
        ...kept.document,
        svc_kind: 'metadata_document',
        svc_document_sha256: kept.sha256,
      })
    },
  }
}

/** The library's own session is never trusted alone, and no approval is remembered: our page decides each time. */
function everyTimeOurPage() {
  const { base, Check } = interactionPolicy
  const policy = base()
  const [login, consent] = [policy.get('login')!, policy.get('consent')!]
  login.checks.length = 0
  login.checks.add(new Check('signed_in', 'sign-in is required', (ctx) => !ctx.oidc.result?.login))
  consent.checks.length = 0
  consent.checks.add(
    new Check(
      'approved',
      'approval is required',
      'consent_required',
      (ctx) => !ctx.oidc.result?.consent?.grantId,
    ),
  )
  return policy
}

/** decisions: unknown scopes are dropped, never an error; nothing left or nothing asked means the defaults. */
function dropUnknownScopes(needs: ConnectorNeeds) {
  return async (ctx: KoaContextWithOIDC) => {
    const { params } = ctx.oidc
    if (!params) return
    const spelled = [params.resource ?? resourceUrl(needs, 'platform')].flat().map(String)
    // The page shows and the grant holds one; a second would be approved unseen.
    if (new Set(spelled.map((one) => resourceMeant(needs, one))).size > 1) throw new errors.InvalidTarget()
    const resource = resourceMeant(needs, spelled[0] ?? '') ?? 'platform'
    const known: readonly string[] = [...RESOURCE_SCOPES[resource], 'offline_access']
    const asked = (typeof params.scope === 'string' ? params.scope : '')
      .split(' ')
      .filter((scope) => known.includes(scope))
    const isEmpty = asked.every((scope) => scope === 'offline_access')
    params.scope = (isEmpty ? [...DEFAULT_SCOPES[resource], ...asked] : asked).join(' ')
  }
}

async function organizationOf(
  { db }: ConnectorNeeds,
  grantId: string | undefined,
): Promise<string | undefined> {
  if (grantId === undefined) return undefined
  const [row] = await db
    .select({ orgId: platformAccessGrants.orgId })
    .from(platformAccessGrants)
    .where(eq(platformAccessGrants.id, grantId))
  return row?.orgId
}

/** What real clients send is settled instead of refused: VS Code asks for device_code, others for scopes. */
function settleMetadata(needs: ConnectorNeeds, metadata: Metadata, isRegistration: boolean): void {
  if (isRegistration) {
    // Nobody registers as something else than they are.
    metadata.svc_kind = 'dynamic'
    delete metadata.svc_document_sha256
  }
  const grants = Array.isArray(metadata.grant_types) ? metadata.grant_types : []
  const taken = grants.filter((grant) => grant === 'authorization_code' || grant === 'refresh_token')
  metadata.grant_types = taken.length > 0 ? taken : ['authorization_code', 'refresh_token']
  metadata.response_types = ['code']
  metadata.response_modes = ['query']
  for (const key of NOT_OURS) delete metadata[key]
  const uris = metadata.redirect_uris
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > 10) {
    throw new errors.InvalidClientMetadata('redirect_uris must have 1 to 10 members')
  }
  for (const uri of uris) {
    const problem = typeof uri === 'string' ? redirectUriProblem(uri, needs.privateSchemes) : 'is not a text'
    if (problem !== undefined)
      throw new errors.InvalidClientMetadata(`redirect_uris, number ${uris.indexOf(uri) + 1}: ${problem}`)
  }
  metadata.application_type = uris.every((uri) => /^https?:/.test(String(uri))) ? 'web' : 'native'
  if (metadata.client_name !== undefined && typeof metadata.client_name !== 'string') {
    throw new errors.InvalidClientMetadata('client_name must be a text')
  }
  // The library mints a secret before defaults apply when the method is left out.
  if ((metadata.token_endpoint_auth_method ?? 'none') === 'none') {
    delete metadata.client_secret
    delete metadata.client_secret_expires_at
  }
}

const NOT_OURS = [
  'scope',
  'initiate_login_uri',
  'sector_identifier_uri',
  'default_max_age',
  'default_acr_values',
  'require_auth_time',
  'contacts',
  'logo_uri',
]

/** The library builds such a client anew each time and would fetch its keys at every token request. */
function keySetCache(needs: ConnectorNeeds): (url: string) => Promise<Response> {
  const kept = new Map<string, { body: Uint8Array; until: number }>()
  return async (url) => {
    const now = needs.clock().getTime()
    const known = kept.get(url)
    if (known && known.until > now) return Response.json(JSON.parse(new TextDecoder().decode(known.body)))
    const answer = await needs.guardedFetch(url, { maxBytes: 65_536, deadlineMs: 2_500 })
    if (answer.status === 200) {
      if (kept.size >= 500) kept.delete(kept.keys().next().value!)
      kept.set(url, { body: answer.body, until: now + 60_000 })
    }
    // Some statuses forbid a body, and the other side chooses the status.
    return new Response(answer.status === 200 ? new Uint8Array(answer.body) : null, {
      status: answer.status === 200 ? 200 : 502,
      headers: answer.headers,
    })
  }
}

export const newGrantId = (needs: ConnectorNeeds): string => makeId('grt', needs.clock().getTime())
