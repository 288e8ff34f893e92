import { RESOURCES, type Resource } from '../../contracts/scopes.ts'

/** The MCP endpoint that is meant. Accepts what clients send: a trailing slash, capitals, or the bare origin (= /platform). */
export function resourceAt(mcpUrl: URL, spelled: string): Resource | undefined {
  const url = URL.parse(spelled)
  if (!url || url.hash || url.search || url.origin !== mcpUrl.origin) return undefined
  const path = url.pathname.replace(/\/$/, '').slice(1)
  if (path === '') return 'platform'
  return RESOURCES.find((resource) => resource === path)
}
