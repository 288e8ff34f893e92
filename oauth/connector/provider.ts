/** The authorization server: the settings of the library, each with its reason. */
import { createHash, createPrivateKey, timingSafeEqual } from 'node:crypto'
import Provider, {
  errors,
  interactionPolicy,
  type Configuration,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import type { Algorithm } from '../../src/trust/signature.ts'
import { makeRefreshToken } from '../../src/trust/refresh-token.ts'
import { GRANT_PROFILE, JWT_BEARER, registerAssertionGrant } from './assertion-grant.ts'
import { normalizeClientMetadata } from './client-metadata.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { registerMachineGrant } from './machine-clients.ts'
import { fetchDocument, isDocumentUrl, isSwitchedOff, storedDocument } from './metadata-documents.ts'
import { isRedirectOrigin, redirectUriMatches } from './redirect-uri.ts'
import { intersectRefreshScopes } from './refresh-scopes.ts'
import { dropUnknownScopes, parseResource, resourceServers, resourceUrl } from './resources.ts'
import { storageAdapter } from './storage-adapter.ts'

/** JWT_SIGNING_KEY is 32 random bytes, exactly an Ed25519 seed; PKCS #8 puts this prefix in front of it. */
function ed25519Jwk(seedHex: string) {
  const der = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(seedHex, 'hex'),
  ])
  const jwk = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  return { ...jwk, alg: 'EdDSA', use: 'sig' }
}

export function createProvider(deps: ConnectorDeps): Provider {
  const organizations = organizationsOfGrants(deps)
  const provider = new Provider(deps.issuer.origin, configuration(deps, organizations))
  if (deps.enterpriseAuth) {
    registerAssertionGrant(deps, provider, organizations.remember)
  }
  // Safe: `pinAddress` has overwritten every forwarded header before the library sees the request.
  provider.proxy = true
  intersectRefreshScopes(provider)
  sayGrantInRefreshTokens(deps, provider)
  const client = provider.Client.prototype as unknown as ClientRules
  client.redirectUriAllowed = function allowed(value) {
    return redirectUriMatches(this.redirectUris ?? [], value, deps.loopbackPorts)
  }
  const allowedByMetadata = Reflect.get(client, 'grantTypeAllowed')
  client.grantTypeAllowed = function allowed(type) {
    // The lists of organizations decide, not what a client says of itself: VS Code's document leaves it out.
    return type === JWT_BEARER || allowedByMetadata.call(this, type)
  }
  client.compareClientSecret = function same(given) {
    const actual = createHash('sha256').update(given).digest()
    const stored = this.svc_kind === 'machine' ? (this.svc_secrets ?? []) : [this.clientSecret ?? '']
    // Each of them, so that the time does not tell which one it is.
    return stored.map((hex) => isSameHash(actual, Buffer.from(hex, 'hex'))).includes(true)
  }
  registerMachineGrant(deps, provider)
  return provider
}

/** For the case that the database loses the row of one: see lost-refresh.ts. */
function sayGrantInRefreshTokens(deps: ConnectorDeps, provider: Provider): void {
  const model = provider.RefreshToken.prototype as unknown as {
    grantId?: string
    generateTokenId(): string
  }
  const random = Reflect.get(model, 'generateTokenId')
  model.generateTokenId = function generate() {
    const facts = { grantId: this.grantId!, issuedAt: deps.clock() }
    return makeRefreshToken(deps.keyFor('refresh-token'), random.call(this), facts)
  }
}

const isSameHash = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

type ClientRules = {
  redirectUris?: string[]
  clientSecret?: string
  svc_kind?: ClientKind
  /** Hashes of all its secrets, while they are rotated. */
  svc_secrets?: string[]
  redirectUriAllowed(this: ClientRules, value: string): boolean
  grantTypeAllowed(this: ClientRules, type: string): boolean
  compareClientSecret(this: ClientRules, given: string): boolean
}

/** Of `private_key_jwt`: documents, registered clients and machine agents. Published in the metadata. */
const CLIENT_ALGORITHMS: Algorithm[] = ['ES256', 'EdDSA', 'RS256', 'PS256']

function configuration(deps: ConnectorDeps, organizations: OrganizationsOfGrants): Configuration {
  const isSecure = deps.issuer.protocol === 'https:'
  /** The library resolves a client again when the first attempt failed: one fetch per request. */
  const fetches = new WeakMap<object, Promise<unknown>>()
  const keySets = keySetCache(deps)
  const resourceServer = resourceServers(deps)

  return {
    adapter: storageAdapter(deps),
    clients: [],
    routes: {
      authorization: '/oauth/authorize',
      token: '/oauth/token',
      registration: '/oauth/register',
      revocation: '/oauth/revoke',
      jwks: '/oauth/jwks',
    },
    responseTypes: ['code'],
    // No `openid`: this is not an identity provider. Resource scopes belong to the resources below.
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
      clientAuthSigningAlgValues: CLIENT_ALGORITHMS,
    },
    // Without a signing key every client is refused, although we sign no id token.
    jwks: { keys: [ed25519Jwk(deps.jwtSigningKey)] },
    // OAuth 2.1, 4.1.1: for every client. The library no longer has `plain`.
    pkce: { required: () => true },
    // Only for public clients, which prove nothing. It is asked before a secret or key is verified: a refusal of any other
    // client would tell whoever has neither that there is such a client. No cookie counts where it is asked.
    clientBasedCORS: (_ctx, origin, { clientAuthMethod, redirectUris = [] }) =>
      clientAuthMethod !== 'none' || isRedirectOrigin(redirectUris, origin, deps.loopbackPorts),
    allowOmittingSingleRegisteredRedirectUri: false,
    acceptQueryParamAccessTokens: false,
    cookies: {
      keys: [Buffer.from(deps.keyFor('oauth-cookies')).toString('base64url')],
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
    interactions: { policy: alwaysAsk(), url: (_ctx, { uid }) => `/oauth/interaction/${uid}` },
    // Only what was approved in this interaction counts.
    loadExistingGrant: async (ctx) => {
      const id = ctx.oidc.result?.consent?.grantId
      return id === undefined ? undefined : ctx.oidc.provider.Grant.find(id)
    },
    extraParams: { svc_scopes: dropUnknownScopes(deps) },
    // Not only with offline_access: clients that do not request it would sign in every hour.
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    extraTokenClaims: async (_ctx, token) => ({
      grant_id: (token as { grantId?: string }).grantId,
      org_id: await organizations.of((token as { grantId?: string }).grantId),
    }),
    extraClientMetadata: {
      properties: ['svc_kind', 'svc_document_sha256', 'svc_secrets'],
      validator: (ctx, key, _value, metadata) => {
        if (key === 'svc_kind') normalizeClientMetadata(deps, metadata, ctx !== undefined)
      },
    },
    // JAG 7.2, 8: never which issuers are trusted.
    ...(deps.enterpriseAuth && {
      discovery: { authorization_grant_profiles_supported: [GRANT_PROFILE] },
    }),
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
        enabled: deps.registrationOpen,
        issueRegistrationAccessToken: false,
        idFactory: () => makeId('dcr', deps.clock().getTime()),
      },
      clientIdMetadataDocument: {
        enabled: deps.documentsOpen,
        ack: 'draft-02',
        cacheDuration: { min: 0, max: 0 },
        async allowFetch(ctx: KoaContextWithOIDC | undefined, clientId: string) {
          if (!isDocumentUrl(clientId) || (await isSwitchedOff(deps, clientId))) return false
          if (ctx?.oidc?.route !== 'authorization')
            return (await storedDocument(deps, clientId)) !== undefined
          const fetching = fetches.get(ctx) ?? fetchDocument(deps, clientId)
          fetches.set(ctx, fetching)
          await fetching
          return true
        },
        async allowClient(_ctx: unknown, client: { clientId: string }) {
          return !(await isSwitchedOff(deps, client.clientId))
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async (_ctx, _client, oneOf) => oneOf?.[0] ?? resourceUrl(deps, 'platform'),
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_ctx, spelled) => {
          const resource = parseResource(deps, spelled)
          if (!resource) throw new errors.InvalidTarget()
          return resourceServer(resource)
        },
      },
    },
    // As JSON: `adjustResponse` turns it into a page.
    renderError: async (ctx, error) => {
      ctx.type = 'json'
      ctx.body = error
    },
    fetchResponseBodyLimits: { 'client_id metadata document': 16_384, jwks_uri: 65_536 },
    // Documents come from what the authorization fetched; key sets of clients through the guarded fetch.
    fetch: async (input) => {
      const url = input instanceof Request ? input.url : String(input)
      const stored = await storedDocument(deps, url)
      if (!stored) return keySets(url)
      return Response.json({
        ...stored.document,
        svc_kind: 'metadata_document',
        svc_document_sha256: stored.sha256,
      })
    },
  }
}

/** The library's own session is not trusted and it remembers no approval: the consent page decides each time. */
function alwaysAsk() {
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

/** About 100 bytes each. */
const REMEMBERED_GRANTS = 10_000

type OrganizationsOfGrants = ReturnType<typeof organizationsOfGrants>

/** A grant never changes its organization, so this is remembered; whether the grant is alive is read elsewhere, every time. */
function organizationsOfGrants({ db }: ConnectorDeps) {
  const known = new Map<string, string>()
  const remember = (grantId: string, orgId: string): void => {
    if (known.size >= REMEMBERED_GRANTS) known.clear()
    known.set(grantId, orgId)
  }
  return {
    remember,
    async of(grantId: string | undefined): Promise<string | undefined> {
      if (grantId === undefined) return undefined
      const remembered = known.get(grantId)
      if (remembered !== undefined) return remembered
      const [row] = await db
        .select({ orgId: platformAccessGrants.orgId })
        .from(platformAccessGrants)
        .where(eq(platformAccessGrants.id, grantId))
      if (row) remember(grantId, row.orgId)
      return row?.orgId
    },
  }
}

/** The library builds a document client for every request and would fetch its keys at every token request. */
function keySetCache(deps: ConnectorDeps): (url: string) => Promise<Response> {
  const cached = new Map<string, { body: Uint8Array; until: number }>()
  return async (url) => {
    const now = deps.clock().getTime()
    const known = cached.get(url)
    if (known && known.until > now) return Response.json(JSON.parse(new TextDecoder().decode(known.body)))
    const answer = await deps.guardedFetch(url, { maxBytes: 65_536, deadlineMs: 2_500 })
    if (answer.status === 200) {
      if (cached.size >= 500) cached.delete(cached.keys().next().value!)
      cached.set(url, { body: answer.body, until: now + 60_000 })
    }
    // Some statuses forbid a body, and the other server chooses the status.
    return new Response(answer.status === 200 ? new Uint8Array(answer.body) : null, {
      status: answer.status === 200 ? 200 : 502,
      headers: answer.headers,
    })
  }
}
