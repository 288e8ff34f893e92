/** What a command works with: its environment, its settings, its output, and the server it calls. */
import type { CallOperation, ServerRequest } from './call-operation.ts'
import type { Environment } from './environment.ts'
import type { Format, View } from './format-output.ts'
import type { HttpResponse } from './http-request.ts'
import type { ResolvedContext } from './resolve-context.ts'

export type Settings = {
  /** The value of --context. */
  readonly context: string | undefined
  /** The value of --output; undefined: the default of the command. */
  readonly format: Format | undefined
  readonly timeoutMs: number
  readonly debug: boolean
  readonly color: boolean
  /** Whether a person at a terminal can be prompted. */
  readonly interactive: boolean
}

export type CommandContext = {
  readonly environment: Environment
  readonly settings: Settings
  /** Writes data to stdout in the chosen format. */
  readonly print: (data: unknown, view: View, defaultFormat?: Format) => void
  /** Writes a line for people to stderr; control characters in it are shown, not executed. */
  readonly info: (line: string) => void
  /** The server and token of this call; throws UNAUTHENTICATED where there are none. */
  readonly resolveContext: () => Promise<ResolvedContext>
  readonly callOperation: CallOperation
  /** Sends a request that is no operation of the table: `svc api`. Every status is returned. */
  readonly sendRequest: (request: ServerRequest) => Promise<HttpResponse>
  /** Calls operations of another server than that of the context: `svc login` checks a token before it saves it. */
  readonly clientFor: (server: { readonly apiUrl: URL; readonly token: string }) => CallOperation
}
