/** The table of pages in the side bar: a new room adds its lines here. */
import type { Role } from '../contracts/roles.ts'
import type { IconName } from '../pages/icons.ts'
import { hasRole, type Visit } from './visit.ts'

type NavigationLink = {
  href: string
  label: string
  icon: IconName
  /** The lowest role that finds anything there; `anyone` needs no organization. */
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
      { href: '/console/audit', label: 'Audit trail', icon: 'list', for: 'admin' },
    ],
  },
  {
    title: 'Data',
    links: [
      { href: '/console/data-sources', label: 'Data sources', icon: 'database', for: 'viewer' },
      { href: '/console/activity', label: 'Activity', icon: 'pulse', for: 'viewer' },
    ],
  },
  {
    title: 'Apps',
    links: [{ href: '/console/apps', label: 'Apps and tickets', icon: 'box', for: 'viewer' }],
  },
  {
    title: 'Agents',
    links: [
      { href: '/console/connect', label: 'Connect an assistant', icon: 'plus', for: 'viewer' },
      { href: '/console/agents', label: 'Connected agents', icon: 'plug', for: 'viewer' },
      { href: '/console/agents/clients', label: 'Agent clients', icon: 'window', for: 'admin' },
    ],
  },
  {
    title: 'Notifications',
    links: [
      { href: '/console/integrations', label: 'Integrations', icon: 'branches', for: 'admin' },
      { href: '/console/subscriptions', label: 'Subscriptions', icon: 'bell', for: 'admin' },
      { href: '/console/deliveries', label: 'Delivery ledger', icon: 'ledger', for: 'admin' },
    ],
  },
  {
    title: 'Settings',
    links: [
      { href: '/console/settings/organization', label: 'General', icon: 'building', for: 'viewer' },
      { href: '/console/settings/tokens', label: 'API tokens', icon: 'key', for: 'viewer' },
      { href: '/console/settings/security', label: 'Security', icon: 'shield', for: 'viewer' },
    ],
  },
  {
    title: 'You',
    links: [
      { href: INBOX, label: 'Inbox', icon: 'inbox', for: 'viewer' },
      { href: '/console/profile/notifications', label: 'What you follow', icon: 'bell', for: 'viewer' },
      { href: '/console/profile', label: 'Profile', icon: 'person', for: 'anyone' },
    ],
  },
]

/** What this person finds in the side bar, with the page they are on marked. */
export function navigationFor(visit: Visit, path: string) {
  const groups = NAVIGATION.map(({ title, links }) => ({
    title,
    links: links.filter((link) => link.for === 'anyone' || hasRole(visit, link.for)),
  })).filter(({ links }) => links.length > 0)
  const here = groups
    .flatMap(({ links }) => links.map(({ href }) => href))
    .filter((href) => path === href || (href !== '/console' && path.startsWith(`${href}/`)))
    .toSorted((a, b) => b.length - a.length)[0]
  return { groups, here }
}
