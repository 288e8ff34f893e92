/** The extensions of MCP authorization that work here, as `server/discover` names them. */
import type { Resource } from '../src/contracts/scopes.ts'
import type { McpDeps } from './dependencies.ts'

/** ext-auth: an identity provider vouches for people, instead of their consent. */
const ENTERPRISE = 'io.modelcontextprotocol/enterprise-managed-authorization'
/** SEP-1046: agents without a person. */
const CLIENT_CREDENTIALS = 'io.modelcontextprotocol/oauth-client-credentials'

export function authExtensions(
  { authMode, enterpriseAuth }: Pick<McpDeps, 'authMode' | 'enterpriseAuth'>,
  resource: Resource,
): readonly string[] {
  // With hosted auth nobody issues access tokens for these endpoints.
  if (authMode === 'hosted') return []
  return [
    ...(enterpriseAuth ? [ENTERPRISE] : []),
    // A machine agent has no notifications.
    ...(resource === 'platform' ? [CLIENT_CREDENTIALS] : []),
  ]
}
