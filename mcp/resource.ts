/** The two endpoints as protected resources: their URLs, names and scopes. */
import type { Resource, Scope } from '../src/contracts/scopes.ts'

export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The audience of its tokens, byte for byte: from the configuration, never from a request, without a trailing slash. */
export const resourceUrl = (mcpUrl: URL, resource: Resource): string => `${mcpUrl.origin}/${resource}`

/** RFC 9728, 3.1: the well-known part goes between host and path. */
export const metadataUrl = (mcpUrl: URL, resource: Resource): string =>
  `${mcpUrl.origin}${METADATA_PATH}/${resource}`

export const RESOURCE_NAMES = {
  platform: 'svc platform',
  notifications: 'svc notifications',
} as const satisfies Record<Resource, string>

/** The scope of a challenge: enough to start with, because clients request exactly that. */
export const CHALLENGE_SCOPE = {
  platform: 'data:read',
  notifications: 'notifications:read',
} as const satisfies Record<Resource, Scope>

export const ALLOWED_METHODS = 'POST, OPTIONS'
