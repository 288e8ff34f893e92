/** Public addresses come from the configuration, never from a request header. */
import { read, type Verb } from '../verb.ts'

export type InstallationDeps = {
  readonly version: string
  readonly apiUrl: URL
  readonly appUrl: URL
  readonly mcpUrl: URL
}

export const showInstallation: Verb<'showInstallation', InstallationDeps> = read(
  'principal',
  async ({ version, apiUrl, appUrl, mcpUrl }) => ({
    version,
    api_url: apiUrl.origin,
    console_url: new URL('/console', appUrl).href,
    mcp_url: new URL('/platform', mcpUrl).href,
  }),
)
