/** What the MCP server is given. It holds no database: everything else it asks the gateway, as any client does. */
import type { Service } from '../src/client/service.ts'
import type { PublishedBundle } from '../src/skills/bundle.ts'
import type { AccessTokens } from '../src/trust/access-token.ts'
import type { ActorAssertions } from '../src/trust/actor-assertion.ts'

export type McpNeeds = {
  /** Asked whose token it is, and nothing else. */
  auth: Service
  /** Every call of a core goes through it, under an actor assertion. */
  gateway: Service
  mcpUrl: URL
  /** The console, where people look at what an agent found. */
  appUrl: URL
  /** Where agents get their tokens. */
  issuer: URL
  /** `hosted`: nobody issues tokens for these endpoints, so API tokens are all they take. */
  authMode: 'self' | 'hosted'
  /** What an agent hears that lacks a scope: a challenge it can answer by asking its person, or a text. */
  stepUp: 'challenge' | 'text'
  accessTokens: AccessTokens
  actorAssertions: ActorAssertions
  /** Exact origins of agents that run in a browser. */
  allowedOrigins: readonly string[]
  /** What agents can learn about this product. */
  skills: PublishedBundle
  clock: () => Date
  version: string
  log: { warn(event: string, fields?: Record<string, unknown>): void }
}

/** Shared with the frame the server stands in, which writes the log line. */
export type McpEnv = {
  Variables: {
    requestId: string
    route: string
    failure: unknown
    caller: { userId: string; orgId: string; door: 'mcp' }
  }
}
