/** The two places agents connect to, under the names that tokens and metadata call them by. */
import type { Resource, Scope } from '../src/contracts/scopes.ts'

export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The audience of its tokens, byte for byte: from the configuration, never from a request, and without a slash behind. */
export const resourceUrl = (mcpUrl: URL, resource: Resource): string => `${mcpUrl.origin}/${resource}`

/** RFC 9728, 3.1: the well-known part stands between host and path. */
export const metadataUrl = (mcpUrl: URL, resource: Resource): string =>
  `${mcpUrl.origin}${METADATA_PATH}/${resource}`

export const RESOURCE_NAMES = {
  platform: 'svc platform',
  notifications: 'svc notifications',
} as const satisfies Record<Resource, string>

/** What a challenge asks for: enough to begin with, because clients request exactly what stands there. */
export const FIRST_SCOPE = {
  platform: 'data:read',
  notifications: 'notifications:read',
} as const satisfies Record<Resource, Scope>

export const METHODS = 'POST, OPTIONS'
