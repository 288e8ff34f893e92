/** Protected resource metadata (RFC 9728): how a client finds the authorization server of an endpoint. */
import type { Hono } from 'hono'
import { cors } from 'hono/cors'
import { ServiceError } from '../src/contracts/errors.ts'
import { RESOURCE_SCOPES, RESOURCES, type Resource } from '../src/contracts/scopes.ts'
import type { McpEnv, McpDeps } from './dependencies.ts'
import { METADATA_PATH, resourceUrl, SERVER_INFO } from './resource.ts'

export function mountMetadata(app: Hono<McpEnv>, deps: McpDeps): void {
  const everything = `${METADATA_PATH}/*`
  // Public and the same for everybody, so any origin may read it.
  app.use(everything, cors({ origin: '*', allowMethods: ['GET', 'HEAD'] }))
  app.use(everything, async function nameRoute(c, next) {
    c.set('route', 'protected-resource-metadata')
    await next()
  })
  if (deps.authMode === 'self') {
    const answer = (path: string, resource: Resource) =>
      app.get(path, (c) => c.json(metadataOf(deps, resource)))
    for (const resource of RESOURCES) {
      answer(`${METADATA_PATH}/${resource}`, resource)
      // Clients append the path of the address as it was given to them.
      answer(`${METADATA_PATH}/${resource}/`, resource)
    }
    // For clients that ignore the challenge. One document cannot name both resources; this is the one people mean.
    answer(METADATA_PATH, 'platform')
  }
  app.all(everything, () => {
    throw new ServiceError('NOT_FOUND', undefined, {
      hint: deps.authMode === 'hosted' ? 'Connect agents to this installation with an API token.' : undefined,
    })
  })
}

const metadataOf = ({ mcpUrl, issuer }: McpDeps, resource: Resource) => ({
  resource: resourceUrl(mcpUrl, resource),
  // Clients compare it byte by byte with the issuer in the server's own metadata, which has no trailing slash either.
  authorization_servers: [issuer.href.replace(/\/$/, '')],
  // offline_access is not a scope of a resource; clients that want it find it in the server's metadata.
  scopes_supported: RESOURCE_SCOPES[resource],
  bearer_methods_supported: ['header'],
  resource_name: SERVER_INFO[resource].title,
})
