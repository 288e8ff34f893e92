/** The list of services: what each owns, and how it is made. Imported lazily, so a worker never loads a page. */
import type { McpNeeds } from '../mcp/needs.ts'
import type { NodeDoor } from '../oauth/connector/door.ts'
import type { ConnectorNeeds } from '../oauth/connector/needs.ts'
import type { AuthNeeds } from '../oauth/needs.ts'
import type { Service } from './client/service.ts'
import type { Config, ServiceName } from './config.ts'
import type { ConsoleNeeds } from './console/needs.ts'
import type { DeployNeeds } from './http/deploy-api.ts'
import type { GatewayNeeds } from './http/gateway.ts'
import type { Observation } from './http/service-app.ts'
import type { SiteNeeds } from './site/app.ts'
import type { LoopNeeds } from './worker/loop.ts'
import type { JobNeeds } from './worker/jobs.ts'
import type { NotificationNeeds } from './worker/notifications.ts'

/** `door`: paths that want Node's own request and response, because a library behind them does. */
export type Running = {
  readonly service?: Service
  readonly door?: NodeDoor
  readonly stop?: () => Promise<void>
}

/** What a service needs is built only if it runs here, hence the functions. */
export type Needs = {
  readonly 'api-gateway': () => GatewayNeeds
  readonly 'auth-service': () => AuthNeeds & ConnectorNeeds
  readonly 'deploy-api': () => DeployNeeds
  readonly 'mcp-server': () => McpNeeds & Observation
  readonly console: () => ConsoleNeeds & Observation
  readonly site: () => SiteNeeds & Observation
  readonly worker: () => LoopNeeds & JobNeeds & NotificationNeeds
}

type Entry = {
  /** The public address whose Host it answers, besides internal ones. */
  readonly at: (config: Config) => readonly URL[]
  readonly owns: RegExp
  readonly usesDatabase: boolean
  /** Loading takes longest and needs nothing; starting is quick. */
  readonly load: () => Promise<(needs: Needs) => Running>
}

/** The authorization server is loaded when an agent first asks for it: it is the largest library of the house. */
function lazyConnector(needs: ConnectorNeeds): NodeDoor {
  let door: Promise<Pick<NodeDoor, 'handle'>> | undefined
  return {
    owns: CONNECTOR_PATHS,
    async handle(incoming, outgoing) {
      door ??= import('../oauth/connector/door.ts').then(({ connectorDoor }) => connectorDoor(needs))
      await (await door).handle(incoming, outgoing)
    },
  }
}

const CONNECTOR_PATHS =
  /^\/(oauth\/(authorize|token|register|revoke|jwks|interaction)(\/|$)|\.well-known\/(oauth-authorization-server|openid-configuration)$)/

const asService = (app: { fetch(request: Request): Response | Promise<Response> }): Running => ({
  service: async (request) => app.fetch(request),
})

/** Whether the data folder is this process's own. Gateways and consoles by themselves have no use for one. */
export const isEmbedded = (config: Config): boolean =>
  config.DATABASE_URL === undefined && config.SVC_SERVICES.some((name) => SERVICES[name].usesDatabase)

export const SERVICES: Record<ServiceName, Entry> = {
  'api-gateway': {
    at: (config) => [config.API_URL],
    owns: /^\/api(\/|$)/,
    usesDatabase: true,
    async load() {
      const { createGateway } = await import('./http/gateway.ts')
      return (needs) => asService(createGateway(needs['api-gateway']()))
    },
  },
  'auth-service': {
    // Callbacks of identity providers, and with them all sign-in pages, live on the app host.
    at: (config) => [config.AUTH_URL, config.REDIRECT_BASE_URL ?? config.APP_URL],
    owns: /^\/(api\/v1|auth)(\/|$)/,
    usesDatabase: true,
    async load() {
      const { createAuthService } = await import('../oauth/app.ts')
      return (needs) => {
        const own = needs['auth-service']()
        return { ...asService(createAuthService(own)), door: lazyConnector(own) }
      }
    },
  },
  'deploy-api': {
    // Where the gateway runs too, it is offered the path first and relays; alone, this answers at the same address.
    at: (config) => [config.API_URL],
    owns: /^\/api\/deploy(\/|$)/,
    usesDatabase: true,
    async load() {
      const { createDeployApi } = await import('./http/deploy-api.ts')
      return (needs) => asService(createDeployApi(needs['deploy-api']()))
    },
  },
  'mcp-server': {
    at: (config) => [config.MCP_URL],
    // Every well-known path: clients probe them all, and read nothing but JSON.
    owns: /^\/(platform|notifications|\.well-known(\/.*)?)$/,
    usesDatabase: false,
    async load() {
      const [{ createMcpServer }, { createServiceApp }] = await Promise.all([
        import('../mcp/app.ts'),
        import('./http/service-app.ts'),
      ])
      return (needs) => {
        const own = needs['mcp-server']()
        return asService(createServiceApp('mcp-server', own).route('/', createMcpServer(own)))
      }
    },
  },
  console: {
    at: (config) => [config.APP_URL],
    owns: /^\/(console(\/|$)|$|favicon\.ico$)/,
    usesDatabase: false,
    async load() {
      const [{ createConsole }, { createServiceApp }] = await Promise.all([
        import('./console/app.ts'),
        import('./http/service-app.ts'),
      ])
      return (needs) => {
        const own = needs.console()
        return asService(createServiceApp('console', own).route('/', createConsole(own)))
      }
    },
  },
  site: {
    at: (config) => [config.SITE_URL],
    // On the host of the console, the console is asked for `/` first.
    owns: /^\/($|\.well-known\/agent-skills(\/|$)|unsubscribe\/)/,
    usesDatabase: false,
    async load() {
      const [{ createSite }, { createServiceApp }] = await Promise.all([
        import('./site/app.ts'),
        import('./http/service-app.ts'),
      ])
      return (needs) => {
        const own = needs.site()
        return asService(createServiceApp('site', own).route('/', createSite(own)))
      }
    },
  },
  worker: {
    at: () => [],
    owns: /^\b$/,
    usesDatabase: true,
    async load() {
      const [{ startLoop }, { jobTable }, { startNotifications }] = await Promise.all([
        import('./worker/loop.ts'),
        import('./worker/jobs.ts'),
        import('./worker/notifications.ts'),
      ])
      return (needs) => {
        const own = needs.worker()
        const both = [startLoop(own, jobTable(own)), startNotifications(own)]
        return {
          stop: async () => void (await Promise.all(both.map((one) => one.stop()))),
        }
      }
    },
  },
}
