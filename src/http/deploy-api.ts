/** The deploy-api: apps, the people on them and the tickets filed on them. The gateway relays to it. */
import type { Hono } from 'hono'
import { cors } from 'hono/cors'
import * as apps from '../contracts/apps.ts'
import * as tickets from '../contracts/tickets.ts'
import { appsOf, makeApp, nameApp, oneApp, putOnApp, takeOffApp } from '../cores/apps/index.ts'
import type { Storage } from '../cores/needs.ts'
import { file, move, oneTicket, reply, ticketsOf } from '../cores/tickets/index.ts'
import type { HttpEnv } from './context.ts'
import { does, mount } from './mount.ts'
import { createServiceApp, type Observation } from './service-app.ts'
import { validateElsewhere, type ValidateNeeds } from './validate-elsewhere.ts'

export type DeployNeeds = Observation & Storage & ValidateNeeds

const OWN = [
  does(apps.createApp, makeApp),
  does(apps.listApps, appsOf),
  does(apps.showApp, oneApp),
  does(apps.renameApp, nameApp),
  does(apps.setAppMember, putOnApp),
  does(apps.removeAppMember, takeOffApp),
  does(tickets.fileTicket, file),
  does(tickets.listTickets, ticketsOf),
  does(tickets.showTicket, oneTicket),
  does(tickets.replyToTicket, reply),
  does(tickets.moveTicket, move),
]

export function createDeployApi(needs: DeployNeeds): Hono<HttpEnv> {
  const app = createServiceApp('deploy-api', needs)
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  mount(app, OWN, needs, { validate: validateElsewhere(needs), operatorToken: undefined })
  return app
}
