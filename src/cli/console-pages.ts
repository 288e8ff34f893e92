/** The pages of the console that `svc open` knows, by name. */

export type ConsolePage = {
  readonly path: string
  /** The page of one of them. */
  readonly item?: string
}

export const CONSOLE_PAGES: Readonly<Record<string, ConsolePage>> = {
  overview: { path: '/console' },
  datasources: { path: '/console/data-sources', item: '/console/data-sources/{name}' },
  apps: { path: '/console/apps', item: '/console/apps/{name}' },
  proposals: { path: '/console/proposals' },
  inbox: { path: '/console/inbox' },
  activity: { path: '/console/activity' },
  agents: { path: '/console/agents' },
  connect: { path: '/console/connect' },
  tokens: { path: '/console/settings/tokens' },
  organization: { path: '/console/settings/organization' },
  members: { path: '/console/members' },
  maintenance: { path: '/console/maintenance' },
  integrations: { path: '/console/integrations' },
  deliveries: { path: '/console/deliveries' },
  audit: { path: '/console/audit' },
  profile: { path: '/console/profile' },
}

export const CONSOLE_PAGE_NAMES = Object.keys(CONSOLE_PAGES)
