/** The web console: pages rendered here, every fact and every change asked of the gateway. */
import { Hono, type Next } from 'hono'
import { matchedRoutes } from 'hono/route'
import { ServiceError } from '../contracts/errors.ts'
import { idPattern, makeId } from '../contracts/ids.ts'
import { serveAssets } from '../pages/assets.ts'
import { CONSOLE_ASSETS } from './layout.ts'
import { activityRoutes } from './pages/activity/activity.ts'
import { agentClientRoutes } from './pages/agents/agent-clients.ts'
import { agentListRoutes } from './pages/agents/agents.ts'
import { accessRoutes } from './pages/access/access.ts'
import { agentDayRoutes } from './pages/agents/agent-day.ts'
import { agentRoutes } from './pages/agents/agent.ts'
import { machineAgentRoutes } from './pages/agents/machine-agent.ts'
import { machineAgentListRoutes } from './pages/agents/machine-agents.ts'
import { newMachineAgentRoutes } from './pages/agents/new-machine-agent.ts'
import { appRoutes } from './pages/apps/app.ts'
import { appChecksRoutes } from './pages/apps/app-checks.ts'
import { appDeploymentsRoutes } from './pages/apps/app-deployments.ts'
import { deploymentRoutes } from './pages/apps/deployment.ts'
import { appLogsRoutes } from './pages/apps/app-logs.ts'
import { appPeopleRoutes } from './pages/apps/app-people.ts'
import { appPipelinesRoutes } from './pages/apps/app-pipelines.ts'
import { appSourceRoutes } from './pages/apps/app-source.ts'
import { appTicketRoutes } from './pages/apps/app-tickets.ts'
import { appRemoteRoutes } from './pages/apps/app-remote.ts'
import { appServiceAccountRoutes } from './pages/apps/app-service-accounts.ts'
import { appTokenRoutes } from './pages/apps/app-tokens.ts'
import { appListRoutes } from './pages/apps/apps.ts'
import { auditRoutes } from './pages/audit/audit.ts'
import { trailStreamRoutes } from './pages/audit/trail-streams.ts'
import { receiptRoutes } from './pages/receipts/receipts.ts'
import { chatAccountRoutes } from './pages/profile/chat-account.ts'
import { connectIntegrationRoutes } from './pages/integrations/connect-integration.ts'
import { connectRoutes } from './pages/connect/connect.ts'
import { dataSourceRoutes } from './pages/data-sources/data-source.ts'
import { sourceAccessRoutes } from './pages/data-sources/source-access.ts'
import { sourceDatabaseRoutes } from './pages/data-sources/source-database.ts'
import { isDocumentsUpload, sourceDocumentsRoutes } from './pages/data-sources/source-documents.ts'
import { sourceRowRoutes } from './pages/data-sources/source-row.ts'
import { sourceSearchRoutes } from './pages/data-sources/source-search.ts'
import { sourceQualityRoutes } from './pages/data-sources/source-quality.ts'
import { sourceUsageRoutes } from './pages/data-sources/source-usage.ts'
import { dataSourceListRoutes } from './pages/data-sources/data-sources.ts'
import { deliveryListRoutes } from './pages/deliveries/deliveries.ts'
import { deliveryRoutes } from './pages/deliveries/delivery.ts'
import { endAccessRoutes } from './pages/profile/end-access.ts'
import { profileNotificationRoutes } from './pages/profile/notifications.ts'
import { identityProviderRoutes } from './pages/identity-provider/identity-provider.ts'
import { providerClientRoutes } from './pages/identity-provider/provider-clients.ts'
import { providerPeopleRoutes } from './pages/identity-provider/provider-people.ts'
import { providerRefusalRoutes } from './pages/identity-provider/provider-refusals.ts'
import { providerRuleRoutes } from './pages/identity-provider/provider-rules.ts'
import { inboxRoutes } from './pages/inbox/inbox.ts'
import { incidentRoutes } from './pages/incidents/incident.ts'
import { integrationRoutes } from './pages/integrations/integration.ts'
import { integrationListRoutes } from './pages/integrations/integrations.ts'
import { appMaintenanceRoutes } from './pages/maintenance/app-maintenance.ts'
import { changeQueueRoutes } from './pages/maintenance/change-queue.ts'
import { findingRoutes } from './pages/maintenance/finding.ts'
import { organizationMaintenanceRoutes } from './pages/maintenance/organization-maintenance.ts'
import { proposalRoutes } from './pages/maintenance/proposal.ts'
import { runRoutes } from './pages/maintenance/run.ts'
import { groupRoutes } from './pages/members/group.ts'
import { groupListRoutes } from './pages/members/groups.ts'
import { scimRoutes } from './pages/members/scim.ts'
import { memberRoutes } from './pages/members/members.ts'
import { LOAD_FILE_PATH, loadFileRoutes } from './pages/data-sources/load-file.ts'
import { loadRoutes } from './pages/data-sources/load.ts'
import { newDatabaseRoutes } from './pages/data-sources/new-database.ts'
import { organizationRoutes } from './pages/organizations/organizations.ts'
import { overviewRoutes } from './pages/overview/overview.ts'
import { profileRoutes } from './pages/profile/profile.ts'
import { searchAllRoutes } from './pages/data-sources/search-all.ts'
import { removeDatabaseRoutes } from './pages/data-sources/remove-database.ts'
import { nextProposalRoutes } from './pages/search/next-proposal.ts'
import { searchRoutes } from './pages/search/search.ts'
import { securityRoutes } from './pages/settings/security.ts'
import { settingsRoutes } from './pages/settings/settings.ts'
import { newSubscriptionRoutes } from './pages/subscriptions/new-subscription.ts'
import { subscriptionRoutes } from './pages/subscriptions/subscriptions.ts'
import { supportSessionRoutes } from './pages/settings/support-sessions.ts'
import { ticketRoutes } from './pages/apps/ticket.ts'
import { newTokenRoutes } from './pages/settings/new-token.ts'
import { tokenRoutes } from './pages/settings/tokens.ts'
import { passChangesOn } from './changes.ts'
import { compressPages } from './compress-pages.ts'
import { handleError } from './error-page.ts'
import { limitBody } from './limit-body.ts'
import { CHANGES, HOME, NOT_FOUND_PAGE } from './safe-next.ts'
import { isSameOrigin } from './same-origin.ts'
import { securityHeaders } from './security-headers.ts'
import { signInRoutes } from './sign-in.ts'
import type { ConsoleDeps, ConsoleEnv, PageContext } from './context.ts'
import { requireSession } from './session.ts'

const ROUTES = [
  overviewRoutes,
  searchRoutes,
  nextProposalRoutes,
  groupRoutes,
  groupListRoutes,
  scimRoutes,
  memberRoutes,
  dataSourceListRoutes,
  newDatabaseRoutes,
  sourceDocumentsRoutes,
  loadFileRoutes,
  loadRoutes,
  searchAllRoutes,
  dataSourceRoutes,
  sourceAccessRoutes,
  sourceSearchRoutes,
  sourceDatabaseRoutes,
  sourceUsageRoutes,
  sourceQualityRoutes,
  sourceRowRoutes,
  removeDatabaseRoutes,
  activityRoutes,
  appListRoutes,
  appRoutes,
  appSourceRoutes,
  appDeploymentsRoutes,
  deploymentRoutes,
  appLogsRoutes,
  appChecksRoutes,
  appPipelinesRoutes,
  appMaintenanceRoutes,
  runRoutes,
  findingRoutes,
  incidentRoutes,
  proposalRoutes,
  changeQueueRoutes,
  organizationMaintenanceRoutes,
  appTicketRoutes,
  appPeopleRoutes,
  appTokenRoutes,
  appRemoteRoutes,
  appServiceAccountRoutes,
  ticketRoutes,
  connectRoutes,
  agentListRoutes,
  accessRoutes,
  agentRoutes,
  agentDayRoutes,
  agentClientRoutes,
  machineAgentListRoutes,
  newMachineAgentRoutes,
  machineAgentRoutes,
  identityProviderRoutes,
  providerClientRoutes,
  providerRuleRoutes,
  providerPeopleRoutes,
  providerRefusalRoutes,
  auditRoutes,
  trailStreamRoutes,
  receiptRoutes,
  integrationListRoutes,
  connectIntegrationRoutes,
  integrationRoutes,
  subscriptionRoutes,
  newSubscriptionRoutes,
  deliveryListRoutes,
  deliveryRoutes,
  inboxRoutes,
  profileNotificationRoutes,
  chatAccountRoutes,
  organizationRoutes,
  settingsRoutes,
  supportSessionRoutes,
  tokenRoutes,
  newTokenRoutes,
  securityRoutes,
  profileRoutes,
  endAccessRoutes,
] as const

/** Mounted at the root: it answers under /console, and `/` leads there. */
export function createConsole(deps: ConsoleDeps): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>()
  app.onError(handleError)
  // Not `*`: mounted beside other services, that would change their responses as well.
  for (const path of ['/', '/favicon.ico', '/console/*']) {
    app.use(path, async function provideDeps(c, next) {
      c.set('deps', deps)
      c.set('requestId', c.get('requestId') ?? requestIdOf(c, deps))
      await next()
      // The pattern, not the path: what people put into an address does not belong in metrics.
      c.set('route', matchedRoutes(c).find(({ method }) => method !== 'ALL')?.path ?? 'unmatched')
    })
    app.use(path, securityHeaders, compressPages)
  }
  app.get('/', (c) => c.redirect(HOME, 302))
  app.get('/favicon.ico', (c) => c.redirect(CONSOLE_ASSETS.icon.path, 302))
  serveAssets(app, CONSOLE_ASSETS)
  app.use(
    '/console/*',
    requireSameOrigin,
    limitBody((path) => path === LOAD_FILE_PATH || isDocumentsUpload(path)),
  )
  // For addresses of this host that belong to no service; whoever asks need not be signed in.
  app.get(NOT_FOUND_PAGE, () => {
    throw new ServiceError('NOT_FOUND')
  })
  app.route(HOME, signInRoutes())
  app.get(CHANGES, passChangesOn)
  app.use('/console/*', requireSession)
  for (const routes of ROUTES) app.route(HOME, routes())
  app.all('/console/*', (c) => {
    if (c.req.method === 'GET' && c.req.path.endsWith('/')) return c.redirect(c.req.path.replace(/\/+$/, ''))
    throw new ServiceError('NOT_FOUND')
  })
  return app
}

async function requireSameOrigin(c: PageContext, next: Next): Promise<void> {
  const isReading = ['GET', 'HEAD'].includes(c.req.method)
  if (!isReading && !isSameOrigin(c.req.raw.headers, c.var.deps.appUrl)) {
    throw new ServiceError('FORBIDDEN', 'This request did not come from the console', {
      hint: 'Open the console and try again.',
    })
  }
  await next()
}

/** For a console that runs by itself; otherwise the service app has set the id that page, log and gateway share. */
function requestIdOf(c: PageContext, { clock }: ConsoleDeps): string {
  const given = c.req.header('x-request-id')
  return given !== undefined && idPattern('req').test(given) ? given : makeId('req', clock().getTime())
}
