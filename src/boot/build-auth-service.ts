/** The auth-service of a process. */
import { createAuthService } from '../../oauth/app.ts'
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'
import type { ConnectorDeps } from '../../oauth/connector/dependencies.ts'
import type { AuthDeps } from '../../oauth/dependencies.ts'
import { apiServer } from '../adapters/cluster/api-server.ts'
import { argon2Passwords } from '../adapters/passwords/argon2.ts'
import { createSignInProviders } from '../adapters/sign-in/providers.ts'
import { TOKEN_REVIEWS } from '../contracts/limits.ts'
import { createProviderKeys } from '../cores/identity-provider/index.ts'
import {
  checkPermission,
  createTokenReviews,
  PROBLEM_TEXTS,
  type Cluster,
  type Workloads,
} from '../cores/workloads/index.ts'
import { deriveKey, keyEpochOf, type KeyPurpose } from '../trust/derive-key.ts'
import { cliTokens, userTokens } from '../trust/user-token.ts'
import { lazyHandler } from './lazy-handler.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'
import { allowsPasswords, providerSettings, signInUrlOf } from './sign-in-settings.ts'

export function buildAuthService(shared: Shared): Running {
  const { config, overrides, observation, guardedFetch } = shared
  const { clock, log } = observation
  const { JWT_SECRET: jwtSecret = '', JWT_SIGNING_KEY: jwtSigningKey = '' } = shared.secrets
  const keyFor = derivedKeys({ jwtSecret, jwtSigningKey })
  const cluster = overrides.cluster ?? ownCluster(shared)
  const workloads = cluster && {
    ...createTokenReviews({ cluster, audience: config.WORKLOAD_AUDIENCE, clock, log }),
    namespaces: overrides.workloadNamespaces ?? config.WORKLOAD_NAMESPACES,
  }
  const pagesUrl = config.REDIRECT_BASE_URL ?? config.APP_URL
  const deps: AuthDeps & ConnectorDeps = {
    ...observation,
    ...shared.storage(),
    keyFor,
    userTokens: userTokens(keyFor('user-token'), config.AUTH_URL.origin),
    cliTokens: cliTokens(keyFor('cli-token'), config.AUTH_URL.origin),
    actorAssertions: shared.assertions,
    workloads,
    keyEpoch: keyEpochOf({ jwtSecret, jwtSigningKey }),
    mcpCallsPerMinute: shared.limits.mcpCallsPerMinute,
    issuer: config.AUTH_URL,
    mcpUrl: config.MCP_URL,
    signInUrl: signInUrlOf(config),
    jwtSecret,
    jwtSigningKey,
    guardedFetch,
    loopbackPorts: config.OAUTH_LOOPBACK_PORTS,
    registrationOpen: config.OAUTH_DCR,
    // With exact loopback ports the clients that use documents could not connect, so they are not offered.
    documentsOpen: config.OAUTH_CIMD && config.OAUTH_LOOPBACK_PORTS !== 'exact',
    // One for the process: what it holds limits how often we ask.
    providerKeys: createProviderKeys({ guardedFetch, clock }),
    enterpriseAuth: config.ENTERPRISE_AUTH,
    refreshGraceSeconds: config.OAUTH_REFRESH_GRACE_S,
    privateSchemes: config.OAUTH_PRIVATE_REDIRECTS,
    passwords: overrides.passwords ?? argon2Passwords({ memoryKib: config.ARGON2_MEMORY_KIB, passes: 2 }),
    passwordSignIn: allowsPasswords(config),
    mail: shared.mail,
    providers: createSignInProviders(providerSettings(config), { fetch: shared.fetch }),
    operatorToken: config.SVC_OPERATOR_TOKEN,
    organizationsPerPerson: shared.limits.organizationsPerPerson,
    returnBases: [
      config.APP_URL,
      config.AUTH_URL,
      pagesUrl,
      ...config.ALLOWED_REDIRECT_BASE_URLS.map((url) => new URL(url)),
    ],
    appUrl: config.APP_URL,
    pagesUrl,
  }
  return {
    ...asService(createAuthService(deps)),
    nodeHandler: lazyConnector(deps),
    warnings: () => warningsOf(workloads),
    auth: deps,
  }
}

/** The authorization server is loaded at its first request: it is the largest library we use. */
const lazyConnector = (deps: ConnectorDeps): NodeHandler =>
  lazyHandler(CONNECTOR_PATHS, async () => {
    const { connectorHandler } = await import('../../oauth/connector/connector-handler.ts')
    return connectorHandler(deps)
  })

const CONNECTOR_PATHS =
  /^\/(oauth\/(authorize|token|register|revoke|jwks|interaction)(\/|$)|\.well-known\/(oauth-authorization-server|openid-configuration)$)/

/** People sign in all the same: only workers are refused, or not even they, and would be by every other process. */
function warningsOf(workloads: Workloads | undefined): string[] {
  // Where no organization has a namespace nobody uses it, and a missing role is no problem.
  if (workloads && workloads.namespaces.size > 0) checkPermission(workloads)
  const problem = workloads?.status().problem
  return problem ? [`${PROBLEM_TEXTS[problem.stops]}: ${problem.reason}`] : []
}

/** Undefined outside of a cluster, and where workload identity is off. */
function ownCluster({ config, closing }: Pick<Shared, 'config' | 'closing'>): Cluster | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = config
  if (!config.WORKLOAD_IDENTITY_ENABLED || host === undefined) return undefined
  return closing(
    apiServer({
      host,
      port,
      credentialsFolder: config.KUBERNETES_CREDENTIALS_DIR,
      timeoutMs: TOKEN_REVIEWS.seconds * 1000,
    }),
  )
}

/** Derived at first use. */
function derivedKeys(of: Parameters<typeof deriveKey>[0]): (purpose: KeyPurpose) => Uint8Array {
  const keys = new Map<KeyPurpose, Uint8Array>()
  return (purpose) => {
    const key = keys.get(purpose) ?? deriveKey(of, purpose)
    keys.set(purpose, key)
    return key
  }
}
