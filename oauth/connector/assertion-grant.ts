/**
 * RFC 7523 with an identity assertion (ID-JAG): a client shows what the identity provider of an organization says of a
 * person, and gets an access token. No page is shown, and no refresh token is issued: the provider decides each time.
 */
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type Provider from 'oidc-provider'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { exchangeAssertion, type ExchangeError } from '../../src/cores/identity-provider/index.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { displayText } from './display-text.ts'
import { isRecent } from './metadata-documents.ts'
import { resourceServers, resourceUrl } from './resources.ts'

export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** JAG 7.2: what says that assertions of this kind are taken. It never says whose. */
export const GRANT_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'

/** Of a request at the token endpoint: the same assertion was shown again. */
export const repeatedAssertions = new WeakSet<KoaContextWithOIDC>()

export function registerAssertionGrant(
  deps: ConnectorDeps,
  provider: Provider,
  /** A token carries the organization of its grant. */
  rememberOrganization: (grantId: string, orgId: string) => void,
): void {
  const servers = resourceServers(deps)
  const handler = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const { params } = ctx.oidc
    const client = clientOf(ctx)
    if (client.kind === 'metadata_document' && !(await isRecent(deps, client.id))) {
      throw REFUSALS.unauthorized_client()
    }
    if (typeof params?.assertion !== 'string') throw new errors.InvalidRequest('assertion must be provided')
    const exchanged = await exchangeAssertion(deps, {
      assertion: params.assertion,
      client,
      scope: typeof params.scope === 'string' && params.scope !== '' ? params.scope : undefined,
      resources: [params.resource ?? []].flat().map(String),
      requestId: makeId('req', deps.clock().getTime()),
    })
    if ('error' in exchanged) throw REFUSALS[exchanged.error]()
    if (exchanged.isRepeated) repeatedAssertions.add(ctx)
    const url = resourceUrl(deps, exchanged.resource)
    const token = new provider.AccessToken({
      client: ctx.oidc.client!,
      accountId: exchanged.userId,
      grantId: exchanged.grantId,
      gty: JWT_BEARER,
      scope: exchanged.scopes.join(' '),
      expiresIn: exchanged.tokenSeconds,
    })
    token.resourceServer = new provider.ResourceServer(url, servers(exchanged.resource))
    rememberOrganization(exchanged.grantId, exchanged.orgId)
    ctx.body = {
      access_token: await token.save(),
      expires_in: exchanged.tokenSeconds,
      token_type: 'Bearer',
      scope: exchanged.scopes.join(' '),
    }
  }
  provider.registerGrantType(JWT_BEARER, handler, ['assertion', 'scope', 'resource'], ['resource'])
}

/** Nothing of the reason: what is wrong with an assertion, and whom it would be for, is its organization's business. */
const REFUSALS: Record<ExchangeError, () => Error> = {
  invalid_grant: () => new errors.InvalidGrant('assertion'),
  invalid_scope: () => new errors.InvalidScope('none of the scopes can be granted', undefined as never),
  invalid_target: () => new errors.InvalidTarget(),
  unauthorized_client: () => new errors.UnauthorizedClient('this client may not use assertions'),
}

/** Whoever registers itself is nobody that an organization could have put on its list. */
function clientOf(ctx: KoaContextWithOIDC) {
  const client = ctx.oidc.client!
  const own = client as unknown as {
    svc_kind?: ClientKind
    svc_document_sha256?: string
    clientName?: string
    clientAuthMethod: string
  }
  const kind = own.svc_kind ?? 'pre_registered'
  if (kind !== 'pre_registered' && kind !== 'metadata_document') throw REFUSALS.unauthorized_client()
  return {
    id: client.clientId,
    kind,
    name: displayText(own.clientName),
    isPublic: own.clientAuthMethod === 'none',
    documentSha256: own.svc_document_sha256 ?? null,
  }
}
