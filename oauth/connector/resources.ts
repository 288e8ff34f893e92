/** The two MCP endpoints as resources of the authorization server, and their scopes. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { DEFAULT_SCOPES, RESOURCE_SCOPES, RESOURCES, type Resource } from '../../src/contracts/scopes.ts'
import type { ConnectorDeps } from './dependencies.ts'

export const resourceUrl = (deps: ConnectorDeps, resource: Resource): string =>
  `${deps.mcpUrl.origin}/${resource}`

/** Accepts what clients send: a trailing slash, capitals, or the bare origin (= /platform). */
export function parseResource(deps: ConnectorDeps, spelled: string): Resource | undefined {
  const url = URL.parse(spelled)
  if (!url || url.hash || url.search || url.origin !== deps.mcpUrl.origin) return undefined
  const path = url.pathname.replace(/\/$/, '').slice(1)
  if (path === '') return 'platform'
  return RESOURCES.find((resource) => resource === path)
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
