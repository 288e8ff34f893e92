/**
 * The scopes an API token or an agent's grant may carry, in the words the token page and the consent page use. Plain
 * constants: the client `svc` loads this file and no zod.
 */

export const SCOPES = {
  'data:read': 'Query the data sources you may query',
  'maintenance:read':
    'Read apps, maintenance runs, findings and proposals, including the source code and log lines you may read',
  'maintenance:run': 'Start maintenance runs',
  'maintenance:admin': 'Turn maintenance on and off',
  'proposals:decide': 'Approve, deny or retry proposed changes',
  'notifications:read': 'Read your notifications',
  'notifications:write': 'Mark your notifications as read and change what you follow',
} as const

export type Scope = keyof typeof SCOPES

/** To an administrator, who reads what other people's agents have. */
export const SCOPES_OF_OTHERS: Record<Scope, string> = {
  ...SCOPES,
  'data:read': 'Query the data sources they may query',
  'maintenance:read':
    'Read apps, maintenance runs, findings and proposals, including the source code and log lines they may read',
  'notifications:read': 'Read their notifications',
  'notifications:write': 'Mark their notifications as read and change what they follow',
}
/** Of a machine agent, which has no notifications. */
export const SCOPES_OF_A_MACHINE: Record<Scope, string> = {
  ...SCOPES,
  'data:read': 'Query the data sources it may query',
  'maintenance:read':
    'Read apps, maintenance runs, findings and proposals, including the source code and log lines it may read',
}

/** In a list, where a sentence has no room. */
export const SCOPE_LABELS: Record<Scope, string> = {
  'data:read': 'Query data',
  'maintenance:read': 'Read apps',
  'maintenance:run': 'Start runs',
  'maintenance:admin': 'Switch maintenance',
  'proposals:decide': 'Decide proposals',
  'notifications:read': 'Read notifications',
  'notifications:write': 'Change notifications',
}

export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]]

/**
 * The edition of the texts above that an approval is recorded with. A scope that came to open more has a later first
 * edition: whoever approved an earlier text has not approved that, so the scope counts as missing until it is approved
 * again. Rows from before editions were recorded have the first.
 */
export const SCOPE_EDITION = 2
const FIRST_EDITIONS: Partial<Record<Scope, number>> = { 'maintenance:read': 2, 'proposals:decide': 2 }

export const approvedScopes = (scopes: readonly Scope[], edition: number): Scope[] =>
  scopes.filter((scope) => (FIRST_EDITIONS[scope] ?? 1) <= edition)

/** Never given by default: only an owner may have an identity provider give them. */
export const SENSITIVE_SCOPES = ['maintenance:admin', 'proposals:decide'] as const satisfies readonly Scope[]

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

/** The scope of an endpoint's challenge: enough to start with, because clients request exactly that. */
export const CHALLENGE_SCOPE = {
  platform: 'data:read',
  notifications: 'notifications:read',
} as const satisfies Record<Resource, Scope>

/** No machine decides proposals: whoever made it would approve their own through it. */
export const MACHINE_AGENT_SCOPES = [
  'data:read',
  'maintenance:read',
  'maintenance:run',
  'maintenance:admin',
] as const
export type MachineAgentScope = (typeof MACHINE_AGENT_SCOPES)[number]

/** decisions: without a requested scope, the read scopes at /platform and both of its own at /notifications. */
export const DEFAULT_SCOPES = {
  platform: ['data:read', 'maintenance:read'],
  notifications: ['notifications:read', 'notifications:write'],
} as const satisfies Record<Resource, readonly Scope[]>
