/** The links of the side bar. The places of Activity, API tokens, Integrations and Notifications are contract. */
import type { Role } from '../contracts/roles.ts'
import type { IconName } from '../pages/icons.ts'
import { hasRole, type ConsoleSession } from './context.ts'

type NavigationLink = {
  href: string
  label: string
  icon: IconName
  /** The minimum role; `anyone` needs no organization. */
  for: Role | 'anyone'
}

/** Also in the header, with the number of unread notifications. */
export const INBOX = '/console/inbox'

const NAVIGATION: readonly { title: string; links: readonly NavigationLink[] }[] = [
  {
    title: 'Organization',
    links: [
      { href: '/console', label: 'Overview', icon: 'home', for: 'anyone' },
      { href: '/console/members', label: 'Members', icon: 'people', for: 'viewer' },
      { href: INBOX, label: 'Inbox', icon: 'inbox', for: 'viewer' },
      { href: '/console/audit', label: 'Audit trail', icon: 'list', for: 'admin' },
    ],
  },
  {
    title: 'Data',
    links: [{ href: '/console/data-sources', label: 'Data sources', icon: 'database', for: 'viewer' }],
  },
  {
    title: 'Apps',
    links: [{ href: '/console/apps', label: 'Apps and tickets', icon: 'box', for: 'viewer' }],
  },
  {
    title: 'MCP',
    links: [
      { href: '/console/activity', label: 'Activity', icon: 'pulse', for: 'viewer' },
      { href: '/console/connect', label: 'Connect an assistant', icon: 'plus', for: 'viewer' },
      { href: '/console/agents', label: 'Connected agents', icon: 'plug', for: 'viewer' },
      { href: '/console/agents/clients', label: 'Agent clients', icon: 'window', for: 'admin' },
    ],
  },
  {
    title: 'Settings',
    links: [{ href: '/console/settings/tokens', label: 'API tokens', icon: 'key', for: 'viewer' }],
  },
  {
    title: 'Organization settings',
    links: [
      { href: '/console/settings/organization', label: 'General', icon: 'building', for: 'viewer' },
      { href: '/console/settings/security', label: 'Security', icon: 'shield', for: 'viewer' },
      { href: '/console/integrations', label: 'Integrations', icon: 'branches', for: 'admin' },
      { href: '/console/subscriptions', label: 'Subscriptions', icon: 'bell', for: 'admin' },
      { href: '/console/deliveries', label: 'Deliveries', icon: 'ledger', for: 'admin' },
    ],
  },
  {
    title: 'Profile settings',
    links: [
      { href: '/console/profile', label: 'Profile', icon: 'person', for: 'anyone' },
      { href: '/console/profile/notifications', label: 'Notifications', icon: 'bell', for: 'viewer' },
      { href: '/console/end-access', label: 'End access', icon: 'shield', for: 'anyone' },
    ],
  },
]

/** The links this user may open, with the current page marked. */
export function navigationFor(session: ConsoleSession, path: string) {
  const groups = NAVIGATION.map(({ title, links }) => ({
    title,
    links: links.filter((link) => link.for === 'anyone' || hasRole(session, link.for)),
  })).filter(({ links }) => links.length > 0)
  const current = groups
    .flatMap(({ links }) => links.map(({ href }) => href))
    .filter((href) => path === href || (href !== '/console' && path.startsWith(`${href}/`)))
    .toSorted((a, b) => b.length - a.length)[0]
  return { groups, current }
}
