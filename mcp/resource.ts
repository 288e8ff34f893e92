/** The two endpoints as protected resources: their URLs, names and scopes. */
import type { Resource } from '../src/contracts/scopes.ts'

export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The audience of its tokens, byte for byte: from the configuration, never from a request, without a trailing slash. */
export const resourceUrl = (mcpUrl: URL, resource: Resource): string => `${mcpUrl.origin}/${resource}`

/** RFC 9728, 3.1: the well-known part goes between host and path. */
export const metadataUrl = (mcpUrl: URL, resource: Resource): string =>
  `${mcpUrl.origin}${METADATA_PATH}/${resource}`

/** As the server introduces itself in `server/discover`, and as its card does before anybody connects. */
export const SERVER_INFO = {
  platform: {
    name: 'svc-platform',
    title: 'svc platform',
    description: 'Query company data and look after apps as the signed-in user, with no more rights.',
  },
  notifications: {
    name: 'svc-notifications',
    title: 'svc notifications',
    description: 'Read the signed-in user’s own notifications and choose what they follow.',
  },
} as const satisfies Record<Resource, { name: string; title: string; description: string }>

export const ALLOWED_METHODS = 'POST, OPTIONS'
