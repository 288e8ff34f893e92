/** Public addresses come from the configuration, never from a request header. */
import type { Handler } from '../../contracts/operations.ts'

export type InstallationDeps = {
  readonly version: string
  readonly apiUrl: URL
  readonly appUrl: URL
  readonly mcpUrl: URL
}

export const showInstallation =
  ({ version, apiUrl, appUrl, mcpUrl }: InstallationDeps): Handler<'showInstallation'> =>
  async () => ({
    version,
    api_url: apiUrl.origin,
    console_url: new URL('/console', appUrl).href,
    mcp_url: new URL('/platform', mcpUrl).href,
  })
