/** Every service: its hosts and its paths. system.ts builds them. */
import type { Config, ServiceName } from './config.ts'

type ServiceEntry = {
  /** The public addresses that it answers at, besides internal ones. */
  readonly at: (config: Config) => readonly URL[]
  readonly owns: RegExp
  /** Beside those, for our own services: at no public address. */
  readonly ownsInternally?: RegExp
  readonly usesDatabase: boolean
}

/** Whether this process uses the embedded database. */
export const isEmbedded = (config: Config): boolean =>
  config.DATABASE_URL === undefined && config.SVC_SERVICES.some((name) => SERVICES[name].usesDatabase)

export const SERVICES: Record<ServiceName, ServiceEntry> = {
  'api-gateway': {
    at: (config) => [config.API_URL],
    // `/v1`: paths that a standard names, such as that of OTLP.
    owns: /^\/((api|v1)(\/|$)|\.well-known\/svc-trail\.json$)/,
    usesDatabase: true,
  },
  'auth-service': {
    // Callbacks of identity providers, and with them all sign-in pages, live on the app host.
    at: (config) => [config.AUTH_URL, config.REDIRECT_BASE_URL ?? config.APP_URL],
    // `/scim`: where directories provision people.
    owns: /^\/(api\/v1|auth|scim\/v2)(\/|$)/,
    usesDatabase: true,
  },
  'deploy-api': {
    // Where the gateway runs too, it is offered the path first and relays; alone, this answers at the same address.
    at: (config) => [config.API_URL],
    owns: /^\/(api\/deploy|v1)(\/|$)/,
    // The tool host, for the agent-runner alone.
    ownsInternally: /^\/agent-runs(\/|$)/,
    usesDatabase: true,
  },
  'mcp-server': {
    at: (config) => [config.MCP_URL],
    // Every well-known path: clients probe them all, and read nothing but JSON.
    owns: /^\/((platform|notifications)(\/(server-card)?)?|\.well-known(\/.*)?)$/,
    usesDatabase: false,
  },
  console: {
    at: (config) => [config.APP_URL],
    owns: /^\/(console(\/|$)|$|favicon\.ico$)/,
    usesDatabase: false,
  },
  site: {
    at: (config) => [config.SITE_URL],
    // On the host of the console, the console is asked for `/` first.
    owns: /^\/($|\.well-known\/agent-skills(\/|$)|(unsubscribe|verify-address)\/)/,
    usesDatabase: false,
  },
  worker: {
    at: () => [],
    owns: /^\b$/,
    usesDatabase: true,
  },
  'agent-runner': {
    // Internal: those who call it know its address.
    at: () => [],
    owns: /^\/agent-runner(\/|$)/,
    usesDatabase: false,
  },
}
