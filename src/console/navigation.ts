/** The places of the console. Those of Activity, API tokens, Integrations and Notifications are contract. */
import type { Role } from '../contracts/roles.ts'
import type { IconName } from '../pages/icons.ts'
import type { Tab } from './components.ts'
import { hasRole, type ConsoleSession } from './context.ts'

/** The minimum role; `anyone` needs no organization. */
type Readers = Role | 'anyone'
type Place = { href: string; label: string; for: Readers }
/** A link of the side bar. Its tabs are pages that share it; the first of them is the link itself. */
type NavigationLink = Place & { icon: IconName; tabs?: readonly Place[] }
type Group = { title?: string; links: readonly NavigationLink[] }

/** Also in the header, with the number of unread notifications. */
export const INBOX = '/console/inbox'
export const SEARCH = '/console/search'
export const IDENTITY_PROVIDER = '/console/identity-provider'

/** Also passed to the layout by its pages: they keep them when a form was refused. */
export const IDENTITY_PROVIDER_TABS = [
  { href: IDENTITY_PROVIDER, label: 'Provider', for: 'admin' },
  { href: `${IDENTITY_PROVIDER}/clients`, label: 'Clients', for: 'admin' },
  { href: `${IDENTITY_PROVIDER}/rules`, label: 'Rules', for: 'admin' },
  { href: `${IDENTITY_PROVIDER}/people`, label: 'People', for: 'admin' },
  { href: `${IDENTITY_PROVIDER}/refusals`, label: 'Refusals', for: 'admin' },
] as const satisfies readonly Place[]

const NAVIGATION: readonly Group[] = [
  {
    links: [
      { href: '/console', label: 'Overview', icon: 'home', for: 'anyone' },
      { href: '/console/data-sources', label: 'Data sources', icon: 'database', for: 'viewer' },
      { href: '/console/apps', label: 'Apps', icon: 'box', for: 'viewer' },
      { href: '/console/proposals', label: 'Change queue', icon: 'branches', for: 'viewer' },
      { href: INBOX, label: 'Inbox', icon: 'inbox', for: 'viewer' },
    ],
  },
  {
    title: 'MCP',
    links: [
      { href: '/console/activity', label: 'Activity', icon: 'pulse', for: 'viewer' },
      {
        href: '/console/agents',
        label: 'Connected agents',
        icon: 'plug',
        for: 'viewer',
        tabs: [
          { href: '/console/agents', label: 'Agents', for: 'viewer' },
          { href: '/console/agents/clients', label: 'Clients', for: 'admin' },
          { href: '/console/agents/machine', label: 'Machine agents', for: 'admin' },
          { href: '/console/access', label: 'Access', for: 'viewer' },
        ],
      },
      {
        href: IDENTITY_PROVIDER,
        label: 'Identity provider',
        icon: 'shield',
        for: 'admin',
        tabs: IDENTITY_PROVIDER_TABS,
      },
      { href: '/console/connect', label: 'Connect an assistant', icon: 'plus', for: 'viewer' },
    ],
  },
  {
    title: 'Settings',
    links: [{ href: '/console/settings/tokens', label: 'API tokens', icon: 'key', for: 'viewer' }],
  },
  {
    title: 'Organization settings',
    links: [
      {
        href: '/console/settings/organization',
        label: 'General',
        icon: 'building',
        for: 'viewer',
        tabs: [
          { href: '/console/settings/organization', label: 'General', for: 'viewer' },
          { href: '/console/settings/security', label: 'Security', for: 'viewer' },
        ],
      },
      {
        href: '/console/members',
        label: 'Members',
        icon: 'people',
        for: 'viewer',
        tabs: [
          { href: '/console/members', label: 'Members', for: 'viewer' },
          { href: '/console/members/groups', label: 'Groups', for: 'admin' },
          { href: '/console/members/scim', label: 'SCIM', for: 'owner' },
        ],
      },
      { href: '/console/maintenance', label: 'Maintenance agent', icon: 'wrench', for: 'viewer' },
      {
        href: '/console/integrations',
        label: 'Integrations',
        icon: 'send',
        for: 'admin',
        tabs: [
          { href: '/console/integrations', label: 'Integrations', for: 'admin' },
          { href: '/console/subscriptions', label: 'Subscriptions', for: 'admin' },
        ],
      },
      { href: '/console/deliveries', label: 'Deliveries', icon: 'ledger', for: 'admin' },
      {
        href: '/console/audit',
        label: 'Audit trail',
        icon: 'list',
        for: 'admin',
        tabs: [
          { href: '/console/audit', label: 'Audit trail', for: 'admin' },
          { href: '/console/receipts', label: 'Receipts', for: 'admin' },
          { href: '/console/audit/streams', label: 'Streams', for: 'owner' },
        ],
      },
    ],
  },
]

/** In the menu of the account instead of the side bar. */
const ACCOUNT: Group = {
  title: 'Profile settings',
  links: [
    {
      href: '/console/profile',
      label: 'Profile',
      icon: 'person',
      for: 'anyone',
      tabs: [
        { href: '/console/profile', label: 'Profile', for: 'anyone' },
        { href: '/console/profile/notifications', label: 'Notifications', for: 'viewer' },
        { href: '/console/end-access', label: 'End access', for: 'anyone' },
      ],
    },
  ],
}

/** The places this user may open, and where among them a page is. */
export function navigationFor(session: ConsoleSession, path: string) {
  const isOpen = (place: Place): boolean => place.for === 'anyone' || hasRole(session, place.for)
  const openLinks = ({ title, links }: Group) => ({
    title,
    links: links.filter(isOpen).map((link) => ({ ...link, tabs: (link.tabs ?? []).filter(isOpen) })),
  })
  const groups = NAVIGATION.map(openLinks).filter(({ links }) => links.length > 0)
  const account = openLinks(ACCOUNT)
  const candidates = [...groups, account].flatMap(({ title, links }) =>
    links.flatMap((link) => [link, ...link.tabs].map(({ href }) => ({ href, link, title }))),
  )
  const here = candidates
    .filter(({ href }) => path === href || (href !== '/console' && path.startsWith(`${href}/`)))
    .toSorted((a, b) => b.href.length - a.href.length)[0]
  const isTab = here !== undefined && path === here.href && here.link.tabs.length > 1
  return {
    groups,
    account: account.links.flatMap(({ tabs }) => tabs),
    current: here?.link.href,
    tabs: isTab
      ? here.link.tabs.map(({ href, label }): Tab => ({ href, label, isCurrent: href === path }))
      : [],
    /** From the outermost to the page itself, which its heading names. */
    crumbs: here === undefined ? [] : crumbsOf(here, path),
  }
}

export type Crumb = { label: string; href?: string }
type Here = { href: string; link: NavigationLink; title: string | undefined }

function crumbsOf({ href, link, title }: Here, path: string): Crumb[] {
  const tab = link.tabs?.find((one) => one.href === href) ?? link
  return [
    ...(title === undefined ? [] : [{ label: title }]),
    ...(path === href ? [] : [{ label: tab.label, href }]),
  ]
}

/** What a search over pages looks through: every link, every tab and the account. */
export function placesFor(session: ConsoleSession): { href: string; label: string; group: string }[] {
  const { groups, account } = navigationFor(session, '')
  const listed = groups.flatMap(({ title = '', links }) =>
    links.flatMap(({ href, label, tabs }) => [
      { href, label, group: title },
      ...tabs
        .filter((tab) => tab.href !== href)
        .map((tab) => ({ href: tab.href, label: tab.label, group: label })),
    ]),
  )
  return [...listed, ...account.map(({ href, label }) => ({ href, label, group: ACCOUNT.title ?? '' }))]
}
