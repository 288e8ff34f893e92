/**
 * `server.json`, for registries: of the endpoint that people mean, at an address that whoever installs svc fills in. A
 * registry takes several remotes for several ways to one server, so the other endpoint is not among them.
 */
import { identity } from '../../mcp/server-card.ts'

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

export const registryEntry = (version: string) => ({
  $schema: SCHEMA,
  ...identity(version, 'platform'),
  remotes: [
    {
      type: 'streamable-http',
      url: 'https://{host}/platform',
      variables: {
        host: {
          description: 'The host of your installation’s MCP address, such as mcp.example.com',
          isRequired: true,
        },
      },
    },
  ],
})
