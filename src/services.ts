/** The list of services: what each owns, and how it is made. Imported lazily, so a worker never loads a page. */
import type { AuthNeeds } from '../oauth/needs.ts'
import type { Service } from './client/service.ts'
import type { Config, ServiceName } from './config.ts'
import type { ConsoleNeeds } from './console/needs.ts'
import type { GatewayNeeds } from './http/gateway.ts'
import type { Observation } from './http/service-app.ts'
import type { LoopNeeds } from './worker/loop.ts'

export type Running = { readonly service?: Service; readonly stop?: () => Promise<void> }

/** What a service needs is built only if it runs here, hence the functions. */
export type Needs = {
  readonly 'api-gateway': () => GatewayNeeds
  readonly 'auth-service': () => AuthNeeds
  readonly console: () => ConsoleNeeds & Observation
  readonly worker: () => LoopNeeds
}

type Entry = {
  /** The public address whose Host it answers, besides internal ones. */
  readonly at: (config: Config) => readonly URL[]
  readonly owns: RegExp
  readonly usesDatabase: boolean
  /** Loading takes longest and needs nothing; starting is quick. */
  readonly load: () => Promise<(needs: Needs) => Running>
}

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
    usesDatabase: false,
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
      return (needs) => asService(createAuthService(needs['auth-service']()))
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
  worker: {
    at: () => [],
    owns: /^\b$/,
    usesDatabase: true,
    async load() {
      const [{ startLoop }, { jobTable }] = await Promise.all([
        import('./worker/loop.ts'),
        import('./worker/jobs.ts'),
      ])
      return (needs) => {
        const own = needs.worker()
        return startLoop(own, jobTable(own))
      }
    },
  },
}
