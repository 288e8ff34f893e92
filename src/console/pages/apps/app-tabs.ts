/** The tabs of an app: which there are, who may open them, and the page around each. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { showApp } from '../../../contracts/apps.ts'
import { notFound } from '../../../contracts/errors.ts'
import type { Content } from '../../../pages/parts.ts'
import { copyable, type Tab } from '../../components.ts'
import { hasRole, organizationOf, sessionOf, type ConsoleSession, type PageContext } from '../../context.ts'
import { page, type Page } from '../../layout.ts'
import type { Crumb } from '../../navigation.ts'
import { appPath, partBadge } from './app-labels.ts'

export type App = z.output<typeof showApp.output>

/** `source`: developers, and whoever works on the app; never support staff. It is the gateway's rule for source and logs. */
const APP_TABS = {
  overview: { path: '', label: 'Overview', for: 'anyone' },
  source: { path: '/source', label: 'Source', for: 'source' },
  deployments: { path: '/deployments', label: 'Deployments', for: 'anyone' },
  logs: { path: '/logs', label: 'Logs', for: 'source' },
  checks: { path: '/checks', label: 'Checks', for: 'anyone' },
  pipelines: { path: '/pipelines', label: 'Pipelines', for: 'anyone' },
  maintenance: { path: '/maintenance', label: 'Maintenance', for: 'anyone' },
  tickets: { path: '/tickets', label: 'Tickets', for: 'anyone' },
  people: { path: '/people', label: 'People', for: 'anyone' },
  settings: { path: '/settings', label: 'Settings', for: 'work' },
} as const satisfies Record<string, { path: string; label: string; for: 'anyone' | 'source' | 'work' }>

export type AppTab = keyof typeof APP_TABS
const NAMES = Object.keys(APP_TABS) as AppTab[]

export const tabPath = (alias: string, tab: AppTab): string => appPath(alias) + APP_TABS[tab].path

export const aliasOf = (c: PageContext): string => c.req.param('alias') ?? ''

/** The app of a page's address. A tab that is not for whoever asks is not there. */
export async function readApp(c: PageContext, tab: AppTab = 'overview'): Promise<App> {
  organizationOf(c)
  const app = await sessionOf(c).call(showApp, { alias: aliasOf(c) })
  if (!mayOpen(sessionOf(c), app, tab)) throw notFound()
  return app
}

export function mayOpen(session: ConsoleSession, app: App, tab: AppTab): boolean {
  const { for: whom } = APP_TABS[tab]
  if (whom === 'work') return mayWork(session, app)
  return (
    whom === 'anyone' ||
    (session.support === undefined && (app.my_role !== null || hasRole(session, 'developer')))
  )
}

/** Whoever works on the app. Support staff may change nothing of it, whatever their session was elevated to. */
export const mayWork = (session: ConsoleSession, { my_role }: App): boolean =>
  my_role !== null && session.support === undefined

/** The whole of a tab: the app's name and tabs above, the body of this one below. */
export function appPage(
  c: PageContext,
  app: App,
  tab: AppTab,
  shown: Pick<Page, 'actions' | 'body' | 'status'>,
) {
  const session = sessionOf(c)
  return page(c, {
    title: app.name,
    lead: html`<code>${app.alias}</code> ${partBadge(app.my_role)}`,
    tabs: tabsOf(session, app, tab),
    ...shown,
  })
}

const tabsOf = (session: ConsoleSession, app: App, current: AppTab): Tab[] =>
  NAMES.filter((tab) => mayOpen(session, app, tab)).map((tab) => ({
    href: tabPath(app.alias, tab),
    label: APP_TABS[tab].label,
    isCurrent: tab === current,
    ...(tab === 'tickets' && app.open_tickets > 0 && { count: app.open_tickets }),
  }))

/** The breadcrumb of a page below a tab: a ticket, a deployment, a file. */
export const tabParents = ({ name, alias }: Pick<App, 'name' | 'alias'>, tab: AppTab): Crumb[] => [
  { label: name, href: appPath(alias) },
  { label: APP_TABS[tab].label, href: tabPath(alias, tab) },
]

/** An empty tab: what will be here, and the one command that fills it, for those who may. */
export const emptyTab = (title: string, text: Content, command: string | false) =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    <p>${text}</p>
    ${command !== false && copyable('command', command, 'Command')}
  </div>`
