/** Protected resource metadata (RFC 9728): how a client finds the authorization server of an endpoint. */
import type { Hono } from 'hono'
import { cors } from 'hono/cors'
import { ServiceError } from '../src/contracts/errors.ts'
import { RESOURCE_SCOPES, RESOURCES, type Resource } from '../src/contracts/scopes.ts'
import type { McpEnv, McpNeeds } from './needs.ts'
import { METADATA_PATH, RESOURCE_NAMES, resourceUrl } from './resource.ts'

export function mountMetadata(app: Hono<McpEnv>, needs: McpNeeds): void {
  const everything = `${METADATA_PATH}/*`
  // Public and the same for everybody, so any page may read it.
  app.use(everything, cors({ origin: '*', allowMethods: ['GET', 'HEAD'] }))
  app.use(everything, async function nameRoute(c, next) {
    c.set('route', 'protected-resource-metadata')
    await next()
  })
  if (needs.authMode === 'self') {
    const answer = (path: string, resource: Resource) =>
      app.get(path, (c) => c.json(metadataOf(needs, resource)))
    for (const resource of RESOURCES) answer(`${METADATA_PATH}/${resource}`, resource)
    // Clients that ignore the challenge ask here. One document cannot name both; this is the one people mean.
    answer(METADATA_PATH, 'platform')
  }
  app.all(everything, () => {
    throw new ServiceError('NOT_FOUND', undefined, {
      hint:
        needs.authMode === 'hosted' ? 'Agents connect to this installation with an API token.' : undefined,
    })
  })
}

const metadataOf = ({ mcpUrl, issuer }: McpNeeds, resource: Resource) => ({
  resource: resourceUrl(mcpUrl, resource),
  // Clients compare it byte by byte with the issuer in the server's own metadata, which has no slash behind either.
  authorization_servers: [issuer.href.replace(/\/$/, '')],
  // offline_access is no scope of a resource; clients that want it find it in the server's metadata.
  scopes_supported: RESOURCE_SCOPES[resource],
  bearer_methods_supported: ['header'],
  resource_name: RESOURCE_NAMES[resource],
})
