/** What the console is given. Everything else it asks the gateway, as any client does. */
import type { Service } from '../client/service.ts'

export type ConsoleNeeds = {
  gateway: Service
  /** Public address of the console. */
  appUrl: URL
  /** Public address of the HTTP API, for the lines people copy; the console's own when left out. */
  apiUrl?: URL
  /** Public address of the MCP endpoints, for the lines people give to their assistants. */
  mcpUrl: URL
  /** With hosted auth nobody signs assistants in: they come with an API token or not at all. */
  authMode?: 'self' | 'hosted'
  /** Where sign-in sends people. */
  signInUrl: URL
  clock: () => Date
  version: string
}
