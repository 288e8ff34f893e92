/** What is known about one request by the time its message is read. */
import type { Call } from '../src/client/http-client.ts'
import type { Resource, Scope } from '../src/contracts/scopes.ts'
import type { PublishedSkill } from '../src/skills/bundle.ts'
import type { McpPrincipal } from './authenticate.ts'
import type { ToolChoice } from './choose-tools.ts'
import type { McpDeps } from './dependencies.ts'
import type { Narrowing } from './tool.ts'

export type RequestContext = {
  resource: Resource
  version: string
  /** Of the message; undefined when there are several, or none that can be read. */
  method: string | undefined
  requestId: string
  appUrl: URL
  principal: McpPrincipal
  narrowing: Narrowing
  choice: ToolChoice
  skills: readonly PublishedSkill[]
  /** The ways to authorize that the server declares. */
  authExtensions: readonly string[]
  /** Calls the gateway for the principal; the trace of the message, if it has one, replaces the request's. */
  call: (as: { traceparent?: string | undefined; signal?: AbortSignal }) => Call
  /** Makes the client request these scopes; undefined where it cannot or is configured not to. */
  challenge: ((scopes: readonly Scope[]) => Response) | undefined
  /** Runs one call of a batch in its turn; any other message has its turn already. Throws RATE_LIMITED. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** Activity reports in flight. */
  reports: Promise<void>[]
  log: McpDeps['log']
  onFailure: (error: Error) => void
}
