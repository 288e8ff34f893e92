/** What one can know about the endpoints before connecting: their server cards (SEP-2127) and the catalog of them. */
import { RESOURCES, type Resource } from '../src/contracts/scopes.ts'
import { resourceUrl, SERVER_INFO } from './resource.ts'

export const CARD_TYPE = 'application/mcp-server-card+json'
export const CATALOG_TYPE = 'application/ai-catalog+json'

export const CATALOG_PATH = '/.well-known/ai-catalog.json'
export const cardPath = (resource: Resource): string => `/${resource}/server-card`

/** The identifier of the format; clients compare it and need not fetch it. */
const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'

/** The domain of our annotations, in reverse. */
const NAMESPACE = 'dev.svc'

/**
 * What clients of each may speak here. 2024-11-05 is not named: it is older than the transport. Written down because the
 * SDK is loaded with the first message; a test asks it.
 */
const PROTOCOL_VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26']

type Installation = { readonly mcpUrl: URL; readonly version: string }

/** Fixed texts and the configured address: nothing of a request, an organization or the database. */
export const serverCard = ({ mcpUrl, version }: Installation, resource: Resource) => ({
  $schema: CARD_SCHEMA,
  ...identity(version, resource),
  remotes: [
    {
      type: 'streamable-http',
      url: resourceUrl(mcpUrl, resource),
      supportedProtocolVersions: PROTOCOL_VERSIONS,
    },
  ],
})

export const catalog = ({ mcpUrl }: Pick<Installation, 'mcpUrl'>) => ({
  specVersion: '1.0',
  entries: RESOURCES.map((resource) => ({
    identifier: `urn:air:${publisher(mcpUrl)}:mcp:${SERVER_INFO[resource].name}`,
    type: CARD_TYPE,
    url: mcpUrl.origin + cardPath(resource),
  })),
})

/** Of an entry in a registry, too. */
export const identity = (version: string, resource: Resource) => ({
  name: `${NAMESPACE}/${SERVER_INFO[resource].name}`,
  title: SERVER_INFO[resource].title,
  description: SERVER_INFO[resource].description,
  version,
})

/** RFC 8141, 2.2: the brackets and colons of an IPv6 address cannot be in a part of a name. */
const publisher = ({ hostname }: URL): string => hostname.replaceAll(/[[\]]/g, '').replaceAll(':', '-')
