/**
 * The scopes an API token or an agent's grant may carry, in the words the token page and the consent page use. Plain
 * constants: the client `svc` loads this file and no zod.
 */

export const SCOPES = {
  'data:read': 'Query the data sources you may query',
  'maintenance:read': 'Read maintenance runs, findings and proposals',
  'maintenance:run': 'Start maintenance runs',
  'maintenance:admin': 'Turn maintenance on and off',
  'proposals:decide': 'Approve or deny proposed changes',
  'notifications:read': 'Read your notifications',
  'notifications:write': 'Mark your notifications as read and change what you follow',
} as const

export type Scope = keyof typeof SCOPES
export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]]

/** decisions, 13: of app tokens and workload identities only; no consent page offers them, no API token carries them. */
export const APP_SCOPES = ['apps:report', 'apps:run'] as const
export type AppScope = (typeof APP_SCOPES)[number]

/** Where a token may be used: the HTTP API, or one of the two MCP endpoints. */
export const AUDIENCES = ['api', 'platform', 'notifications'] as const
export type Audience = (typeof AUDIENCES)[number]

/** The MCP endpoints that a grant can be for, and their scopes. */
export const RESOURCES = ['platform', 'notifications'] as const
export type Resource = (typeof RESOURCES)[number]

export const RESOURCE_SCOPES = {
  platform: ['data:read', 'maintenance:read', 'maintenance:run', 'maintenance:admin', 'proposals:decide'],
  notifications: ['notifications:read', 'notifications:write'],
} as const satisfies Record<Resource, readonly Scope[]>

/** decisions: without a requested scope, the read scopes at /platform and both of its own at /notifications. */
export const DEFAULT_SCOPES = {
  platform: ['data:read', 'maintenance:read'],
  notifications: ['notifications:read', 'notifications:write'],
} as const satisfies Record<Resource, readonly Scope[]>
