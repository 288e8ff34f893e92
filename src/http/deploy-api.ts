/** The deploy-api: apps, their members and their tickets. The gateway relays to it. */
import { cors } from 'hono/cors'
import type { Verbs } from '../contracts/operations.ts'
import * as apps from '../cores/apps/index.ts'
import type { Storage } from '../cores/dependencies.ts'
import type { WithDirectory } from '../cores/directory/index.ts'
import * as tickets from '../cores/tickets/index.ts'
import { mount } from './mount.ts'
import { createServiceApp, type Observation, type ServiceApp } from './service-app.ts'
import { validateRemotely, type ValidateDeps } from './validate-remotely.ts'

export type DeployDeps = Observation & Storage & WithDirectory & ValidateDeps

const DEPLOY_VERBS: Verbs<'deploy-api', DeployDeps> = {
  createApp: apps.createApp,
  listApps: apps.listApps,
  showApp: apps.showApp,
  renameApp: apps.renameApp,
  setAppMember: apps.setAppMember,
  removeAppMember: apps.removeAppMember,
  createTicket: tickets.createTicket,
  listTickets: tickets.listTickets,
  searchTickets: tickets.searchTickets,
  showTicket: tickets.showTicket,
  replyToTicket: tickets.replyToTicket,
  changeTicketStatus: tickets.changeTicketStatus,
}

export function createDeployApi(deps: DeployDeps): ServiceApp {
  const app = createServiceApp('deploy-api', deps)
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  mount(app, DEPLOY_VERBS, deps, { validate: validateRemotely(deps), operatorToken: undefined })
  return app
}
