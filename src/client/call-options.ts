/** What goes with a call besides its input. */
import type { EntryPoint } from '../contracts/operation.ts'

export type CallOptions = {
  token?: string | undefined
  /** The organization to act in, when it is not the one last chosen. */
  organization?: string | undefined
  entryPoint?: Exclude<EntryPoint, 'mcp' | 'api'> | undefined
  address?: string | undefined
  requestId?: string | undefined
  /** W3C trace context of the request this call serves. */
  traceparent?: string | undefined
  userAgent?: string | undefined
  /** Ends the wait for an answer. */
  signal?: AbortSignal | undefined
  /** What the auth service of this process has just answered about this very token; it has no form that could be sent. */
  validation?: object | undefined
}
