/** The web console: pages rendered here, every fact and every change asked of the gateway. */
import { Hono, type Context, type Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { matchedRoutes } from 'hono/route'
import { ServiceError } from '../contracts/errors.ts'
import { idPattern, makeId } from '../contracts/ids.ts'
import { BODY_MAX_BYTES } from '../contracts/limits.ts'
import { serveAssets } from '../pages/assets.ts'
import { CONSOLE_ASSETS } from './layout.ts'
import type { ConsoleNeeds } from './needs.ts'
import { activityPages } from './pages/activity.ts'
import { agentClientPages } from './pages/agent-clients.ts'
import { agentPages } from './pages/agents.ts'
import { appPages } from './pages/app.ts'
import { appListPages } from './pages/apps.ts'
import { auditPages } from './pages/audit.ts'
import { chatAccountPages } from './pages/chat-account.ts'
import { connectChannelPages } from './pages/connect-channel.ts'
import { connectPages } from './pages/connect.ts'
import { dataSourcePages } from './pages/data-source.ts'
import { dataSourceListPages } from './pages/data-sources.ts'
import { deliveryListPages } from './pages/deliveries.ts'
import { deliveryPages } from './pages/delivery.ts'
import { followPages } from './pages/follows.ts'
import { inboxPages } from './pages/inbox.ts'
import { integrationPages } from './pages/integration.ts'
import { integrationListPages } from './pages/integrations.ts'
import { memberPages } from './pages/members.ts'
import { newDatabasePages } from './pages/new-database.ts'
import { organizationPages } from './pages/organizations.ts'
import { overviewPages } from './pages/overview.ts'
import { profilePages } from './pages/profile.ts'
import { removeDatabasePages } from './pages/remove-database.ts'
import { securityPages } from './pages/security.ts'
import { settingsPages } from './pages/settings.ts'
import { subscriptionPages } from './pages/subscriptions.ts'
import { supportVisitPages } from './pages/support-visits.ts'
import { ticketPages } from './pages/ticket.ts'
import { tokenPages } from './pages/tokens.ts'
import { refuse } from './refuse.ts'
import { HOME } from './safe-next.ts'
import { isSameOrigin } from './same-origin.ts'
import { securityHeaders } from './security-headers.ts'
import { signInPages } from './sign-in.ts'
import { enter, type ConsoleEnv } from './visit.ts'

export type { ConsoleNeeds } from './needs.ts'

const PAGES = [
  overviewPages,
  memberPages,
  dataSourceListPages,
  newDatabasePages,
  dataSourcePages,
  removeDatabasePages,
  activityPages,
  appListPages,
  appPages,
  ticketPages,
  connectPages,
  agentPages,
  agentClientPages,
  auditPages,
  integrationListPages,
  connectChannelPages,
  integrationPages,
  subscriptionPages,
  deliveryListPages,
  deliveryPages,
  inboxPages,
  followPages,
  chatAccountPages,
  organizationPages,
  settingsPages,
  supportVisitPages,
  tokenPages,
  securityPages,
  profilePages,
] as const

/** Mounted at the root: it answers under /console, and `/` leads there. */
export function createConsole(needs: ConsoleNeeds): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>()
  app.onError(refuse)
  // Not `*`: mounted beside other services, that would dress their answers as well.
  for (const path of ['/', '/favicon.ico', '/console/*']) {
    app.use(path, async function knowNeeds(c, next) {
      c.set('needs', needs)
      c.set('requestId', c.get('requestId') ?? requestIdOf(c, needs))
      await next()
      // The pattern, not the path: what people put into an address does not belong into metrics.
      c.set('route', matchedRoutes(c).find(({ method }) => method !== 'ALL')?.path ?? 'unmatched')
    })
    app.use(path, securityHeaders)
  }
  app.get('/', (c) => c.redirect(HOME, 302))
  app.get('/favicon.ico', (c) => c.redirect(CONSOLE_ASSETS.icon.path, 302))
  serveAssets(app, CONSOLE_ASSETS)
  app.use('/console/*', onlyOurForms, bodyLimit({ maxSize: BODY_MAX_BYTES }))
  app.route(HOME, signInPages())
  app.use('/console/*', enter)
  for (const pages of PAGES) app.route(HOME, pages())
  app.all('/console/*', (c) => {
    if (c.req.method === 'GET' && c.req.path.endsWith('/')) return c.redirect(c.req.path.replace(/\/+$/, ''))
    throw new ServiceError('NOT_FOUND')
  })
  return app
}

async function onlyOurForms(c: Context<ConsoleEnv>, next: Next): Promise<void> {
  const isReading = ['GET', 'HEAD'].includes(c.req.method)
  if (!isReading && !isSameOrigin(c.req.raw.headers, c.var.needs.appUrl)) {
    throw new ServiceError('FORBIDDEN', 'This request did not come from a page of the console', {
      hint: 'Open the console and do it there.',
    })
  }
  await next()
}

/** Standing alone. Otherwise the frame has named the request, and page, log and gateway speak of the same one. */
function requestIdOf(c: Context<ConsoleEnv>, { clock }: ConsoleNeeds): string {
  const given = c.req.header('x-request-id')
  return given !== undefined && idPattern('req').test(given) ? given : makeId('req', clock().getTime())
}
