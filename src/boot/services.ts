/** Every service: its hosts, its paths, and how it is created. Imported lazily, so a worker never loads a page. */
import type { AgentRunnerDeps } from '../agent-runner/agent-runner.ts'
import type { AskDeps } from '../agent-runner/app.ts'
import type { McpDeps } from '../../mcp/dependencies.ts'
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'
import type { ConnectorDeps } from '../../oauth/connector/dependencies.ts'
import type { AuthDeps } from '../../oauth/dependencies.ts'
import type { Service } from '../client/service.ts'
import type { Config, ServiceName } from './config.ts'
import type { ConsoleDeps } from '../console/context.ts'
import type { TenantDeps } from '../cores/databases/index.ts'
import type { DeployDeps } from '../http/deploy-api.ts'
import type { GatewayDeps } from '../http/gateway.ts'
import type { InProcessCalls } from '../http/in-process.ts'
import type { Observation } from '../http/service-app.ts'
import type { SiteDeps } from '../site/app.ts'
import { lazyHandler } from './lazy-handler.ts'
import type { LoopDeps } from '../worker/loop.ts'
import type { CheckRunnerDeps } from '../cores/checks/index.ts'
import type { JobDeps } from '../worker/jobs.ts'
import type { NotificationDeps } from '../worker/notifications.ts'

/** `nodeHandler`: for paths whose library needs Node's own request and response. */
export type Running = {
  readonly service?: Service
  readonly nodeHandler?: NodeHandler
  /** What it does by itself, begun once the port is open: a start must not wait for it. */
  readonly startJobs?: () => { stop(): Promise<void> }
}

/** Functions, so that the dependencies of a service are only built where it runs. */
export type Deps = {
  readonly 'api-gateway': () => GatewayDeps
  readonly 'auth-service': () => AuthDeps & ConnectorDeps
  readonly 'deploy-api': () => DeployDeps
  readonly 'mcp-server': () => McpDeps & Observation
  readonly console: () => ConsoleDeps & Observation
  readonly site: () => SiteDeps & Observation
  readonly 'agent-runner': () => Omit<AgentRunnerDeps, 'rules'> & AskDeps
  readonly worker: () => LoopDeps & JobDeps & TenantDeps & NotificationDeps & CheckRunnerDeps
}

type ServiceEntry = {
  /** The public addresses that it answers at, besides internal ones. */
  readonly at: (config: Config) => readonly URL[]
  readonly owns: RegExp
  /** Beside those, for our own services: at no public address. */
  readonly ownsInternally?: RegExp
  readonly usesDatabase: boolean
  /** Loading is slow and needs no dependencies; starting is quick. */
  readonly load: () => Promise<(deps: Deps) => Running>
}

/** The authorization server is loaded at its first request: it is the largest library we use. */
const lazyConnector = (deps: ConnectorDeps): NodeHandler =>
  lazyHandler(CONNECTOR_PATHS, async () => {
    const { connectorHandler } = await import('../../oauth/connector/connector-handler.ts')
    return connectorHandler(deps)
  })

const CONNECTOR_PATHS =
  /^\/(oauth\/(authorize|token|register|revoke|jwks|interaction)(\/|$)|\.well-known\/(oauth-authorization-server|openid-configuration)$)/

const asService = (app: {
  fetch(request: Request): Response | Promise<Response>
  readonly inProcess?: InProcessCalls
}): Running => ({
  service: Object.assign(async (request: Request) => app.fetch(request), {
    callInProcess: app.inProcess?.call,
  }),
})

/** Whether this process uses the embedded database. */
export const isEmbedded = (config: Config): boolean =>
  config.DATABASE_URL === undefined && config.SVC_SERVICES.some((name) => SERVICES[name].usesDatabase)

export const SERVICES: Record<ServiceName, ServiceEntry> = {
  'api-gateway': {
    at: (config) => [config.API_URL],
    // `/v1`: paths that a standard names, such as that of OTLP.
    owns: /^\/(api|v1)(\/|$)/,
    usesDatabase: true,
    async load() {
      const [{ createGateway }, { startLoads }] = await Promise.all([
        import('../http/gateway.ts'),
        import('../worker/loads.ts'),
      ])
      return (deps) => {
        const own = deps['api-gateway']()
        return { ...asService(createGateway(own)), startJobs: () => startLoads(own) }
      }
    },
  },
  'auth-service': {
    // Callbacks of identity providers, and with them all sign-in pages, live on the app host.
    at: (config) => [config.AUTH_URL, config.REDIRECT_BASE_URL ?? config.APP_URL],
    owns: /^\/(api\/v1|auth)(\/|$)/,
    usesDatabase: true,
    async load() {
      const { createAuthService } = await import('../../oauth/app.ts')
      return (deps) => {
        const own = deps['auth-service']()
        return { ...asService(createAuthService(own)), nodeHandler: lazyConnector(own) }
      }
    },
  },
  'deploy-api': {
    // Where the gateway runs too, it is offered the path first and relays; alone, this answers at the same address.
    at: (config) => [config.API_URL],
    owns: /^\/(api\/deploy|v1)(\/|$)/,
    // The tool host, for the agent-runner alone.
    ownsInternally: /^\/agent-runs(\/|$)/,
    usesDatabase: true,
    async load() {
      const { createDeployApi } = await import('../http/deploy-api.ts')
      return (deps) => asService(createDeployApi(deps['deploy-api']()))
    },
  },
  'mcp-server': {
    at: (config) => [config.MCP_URL],
    // Every well-known path: clients probe them all, and read nothing but JSON.
    owns: /^\/((platform|notifications)(\/(server-card)?)?|\.well-known(\/.*)?)$/,
    usesDatabase: false,
    async load() {
      const [{ createMcpServer }, { createServiceApp }] = await Promise.all([
        import('../../mcp/app.ts'),
        import('../http/service-app.ts'),
      ])
      return (deps) => {
        const own = deps['mcp-server']()
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
        import('../console/app.ts'),
        import('../http/service-app.ts'),
      ])
      return (deps) => {
        const own = deps.console()
        return asService(createServiceApp('console', own).route('/', createConsole(own)))
      }
    },
  },
  site: {
    at: (config) => [config.SITE_URL],
    // On the host of the console, the console is asked for `/` first.
    owns: /^\/($|\.well-known\/agent-skills(\/|$)|(unsubscribe|verify-address)\/)/,
    usesDatabase: false,
    async load() {
      const [{ createSite }, { createServiceApp }] = await Promise.all([
        import('../site/app.ts'),
        import('../http/service-app.ts'),
      ])
      return (deps) => {
        const own = deps.site()
        return asService(createServiceApp('site', own).route('/', createSite(own)))
      }
    },
  },
  worker: {
    at: () => [],
    owns: /^\b$/,
    usesDatabase: true,
    async load() {
      const [
        { startLoop, startLoopForEach },
        { jobTable, watchTable },
        { startNotifications },
        { startChecks },
        { startWatchLoops },
        { watchLoops },
      ] = await Promise.all([
        import('../worker/loop.ts'),
        import('../worker/jobs.ts'),
        import('../worker/notifications.ts'),
        import('../worker/checks.ts'),
        import('../worker/watch-loop.ts'),
        import('../worker/watch-table.ts'),
      ])
      return (deps) => {
        const own = deps.worker()
        const startJobs = () => {
          const loops = [
            startLoop(own, jobTable(own)),
            startLoopForEach(own, watchTable(own)),
            startNotifications(own),
            startChecks(own),
            startWatchLoops(own, watchLoops(own)),
          ]
          return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) }
        }
        return { startJobs }
      }
    },
  },
  'agent-runner': {
    // Internal: those who call it know its address.
    at: () => [],
    owns: /^\/agent-runner(\/|$)/,
    usesDatabase: false,
    async load() {
      const [{ createAgentRunnerApp }, { startAgentRunner }, { rulesAnalyst }] = await Promise.all([
        import('../agent-runner/app.ts'),
        import('../agent-runner/agent-runner.ts'),
        import('../agent-runner/rules/analyst.ts'),
      ])
      return (deps) => {
        const own = deps['agent-runner']()
        return {
          ...asService(createAgentRunnerApp(own)),
          startJobs: () => startAgentRunner({ ...own, rules: rulesAnalyst }),
        }
      }
    },
  },
}
