/** What is known about one request by the time its message is read. */
import type { Call } from '../src/client/call.ts'
import type { Resource, Scope } from '../src/contracts/scopes.ts'
import type { Entrant } from './bearer.ts'
import type { Choice } from './choose-tools.ts'
import type { Narrowing } from './narrowing.ts'
import type { McpNeeds } from './needs.ts'

export type Serving = {
  resource: Resource
  version: string
  requestId: string
  appUrl: URL
  entrant: Entrant
  narrowing: Narrowing
  choice: Choice
  skills: McpNeeds['skills']
  /** The gateway on behalf of the entrant; with the trace of the message, if it brought one, instead of the request's. */
  call: (as: { traceparent?: string | undefined; signal?: AbortSignal }) => Call
  /** Sends a client to fetch these scopes; undefined where it cannot, or is not to, and is told in words. */
  challenge: ((scopes: readonly Scope[]) => Response) | undefined
  /** Rows about calls that are on their way. */
  reports: Promise<void>[]
  log: McpNeeds['log']
  onFailure: (error: Error) => void
}
