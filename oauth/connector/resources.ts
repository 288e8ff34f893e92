/** The two MCP endpoints as resources of the authorization server, and their scopes. */
import { createSecretKey } from 'node:crypto'
import { errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import { DEFAULT_SCOPES, RESOURCE_SCOPES, type Resource } from '../../src/contracts/scopes.ts'
import { resourceAt } from '../../src/cores/grants/index.ts'
import type { ConnectorDeps } from './dependencies.ts'

export const resourceUrl = (deps: ConnectorDeps, resource: Resource): string =>
  `${deps.mcpUrl.origin}/${resource}`

export const parseResource = (deps: ConnectorDeps, spelled: string): Resource | undefined =>
  resourceAt(deps.mcpUrl, spelled)

/** As the library signs tokens for them: `aud` is the endpoint, and the MCP server verifies them with the same secret. */
export function resourceServers(deps: ConnectorDeps): (resource: Resource) => ResourceServer {
  const accessKey = createSecretKey(Buffer.from(deps.jwtSecret, 'hex'))
  return (resource) => ({
    scope: RESOURCE_SCOPES[resource].join(' '),
    audience: resourceUrl(deps, resource),
    accessTokenTTL: CONNECTOR_SECONDS.accessToken,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'HS256', key: accessKey, kid: 'svc-1' } },
  })
}

/** Unknown scopes are dropped, never an error; without any scope left, the defaults apply. */
export function dropUnknownScopes(deps: ConnectorDeps) {
  return async (ctx: KoaContextWithOIDC) => {
    const { params } = ctx.oidc
    if (!params) return
    const spelled = [params.resource ?? resourceUrl(deps, 'platform')].flat().map(String)
    // The page shows one resource and the grant has one; a second would be approved unseen.
    if (new Set(spelled.map((one) => parseResource(deps, one))).size > 1) throw new errors.InvalidTarget()
    const resource = parseResource(deps, spelled[0] ?? '') ?? 'platform'
    const known: readonly string[] = [...RESOURCE_SCOPES[resource], 'offline_access']
    const requested = (typeof params.scope === 'string' ? params.scope : '')
      .split(' ')
      .filter((scope) => known.includes(scope))
    const isEmpty = requested.every((scope) => scope === 'offline_access')
    params.scope = (isEmpty ? [...DEFAULT_SCOPES[resource], ...requested] : requested).join(' ')
  }
}
