/** What each tool of the MCP endpoints needs, for those who are no MCP server. mcp/tools.test.ts compares it with the tools. */
import { atLeast, type Role } from './roles.ts'
import type { Resource, Scope } from './scopes.ts'

export type ToolRule = {
  readonly resource: Resource
  /** One call needs all of them. */
  readonly scopes: readonly Scope[]
  readonly minimumRole: Role
}

export const MCP_TOOLS = {
  search: { resource: 'platform', scopes: ['data:read'], minimumRole: 'viewer' },
  fetch: { resource: 'platform', scopes: ['data:read'], minimumRole: 'viewer' },
  datasource_list: { resource: 'platform', scopes: ['data:read'], minimumRole: 'viewer' },
  datasource_query: { resource: 'platform', scopes: ['data:read'], minimumRole: 'viewer' },
  app_list: { resource: 'platform', scopes: ['maintenance:read'], minimumRole: 'viewer' },
  maintenance_status: { resource: 'platform', scopes: ['maintenance:read'], minimumRole: 'viewer' },
  maintenance_run: { resource: 'platform', scopes: ['maintenance:run'], minimumRole: 'admin' },
  maintenance_set: { resource: 'platform', scopes: ['maintenance:admin'], minimumRole: 'admin' },
  proposal_show: { resource: 'platform', scopes: ['maintenance:read'], minimumRole: 'viewer' },
  proposal_decide: {
    resource: 'platform',
    scopes: ['maintenance:read', 'proposals:decide'],
    minimumRole: 'admin',
  },
  whoami: { resource: 'platform', scopes: [], minimumRole: 'viewer' },
  notifications_list: { resource: 'notifications', scopes: ['notifications:read'], minimumRole: 'viewer' },
  notifications_ack: { resource: 'notifications', scopes: ['notifications:write'], minimumRole: 'viewer' },
  notification_subscriptions: {
    resource: 'notifications',
    scopes: ['notifications:read'],
    minimumRole: 'viewer',
  },
  notification_follow: { resource: 'notifications', scopes: ['notifications:write'], minimumRole: 'viewer' },
} as const satisfies Record<string, ToolRule>

export type McpToolName = keyof typeof MCP_TOOLS
export const MCP_TOOL_NAMES = Object.keys(MCP_TOOLS) as [McpToolName, ...McpToolName[]]

export const missingScopes = (tool: Pick<ToolRule, 'scopes'>, scopes: readonly Scope[]): Scope[] =>
  tool.scopes.filter((scope) => !scopes.includes(scope))

export const hasRoleFor = (tool: Pick<ToolRule, 'minimumRole'>, role: Role): boolean =>
  atLeast(role, tool.minimumRole)
