/** What the MCP server needs. It has no database: like any client, it calls the gateway. */
import type { Service } from '../src/client/service.ts'
import type { PublishedBundle } from '../src/skills/bundle.ts'
import type { AccessTokens } from '../src/trust/access-token.ts'
import type { ActorAssertions } from '../src/trust/actor-assertion.ts'

export type McpDeps = {
  /** Only for validating tokens. */
  auth: Service
  /** Every operation is called through it, with an actor assertion. */
  gateway: Service
  mcpUrl: URL
  /** The console, for links to what an agent found. */
  appUrl: URL
  /** The authorization server. */
  issuer: URL
  /** `hosted`: nobody issues access tokens for these endpoints, so they accept API tokens only. */
  authMode: 'self' | 'hosted'
  /** Whether the authorization server takes assertions of organizations' identity providers. */
  enterpriseAuth: boolean
  /** Ids of the only organizations that this installation serves, with hosted auth. */
  servedOrganizations: ReadonlySet<string> | undefined
  /** How a missing scope is reported: by an HTTP challenge that the client can act on, or as text. */
  stepUp: 'challenge' | 'text'
  accessTokens: AccessTokens
  actorAssertions: ActorAssertions
  /** Exact origins of clients that run in a browser. */
  allowedOrigins: readonly string[]
  skills: PublishedBundle
  clock: () => Date
  version: string
  log: { warn(event: string, fields?: Record<string, unknown>): void }
  /** For tests: when a call lets the next one start. */
  slowMs?: number
}

/** Shared with the service app around it, which writes the log line. */
export type McpEnv = {
  Variables: {
    requestId: string
    route: string
    failure: unknown
    principal: { userId: string; orgId: string; entryPoint: 'mcp' }
  }
}
