/** What the services of a process share. */
import type { Connection } from '../../db/connect.ts'
import type { Embedded } from '../../db/embedded.ts'
import type { ModelFolder } from '../adapters/embeddings/model-folder.ts'
import { guardedFetch } from '../adapters/outbound/guarded-fetch.ts'
import { proxiedFetch } from '../adapters/outbound/proxied-fetch.ts'
import { outboundProxy } from '../adapters/outbound/proxy.ts'
import { smtpMail } from '../adapters/mail/smtp.ts'
import type { argon2Passwords } from '../adapters/passwords/argon2.ts'
import type { AskModel } from '../agent-runner/do-run.ts'
import { askModelAt } from '../client/ask-model.ts'
import { overNetwork, REMOTE_HEADER, type CallInProcess, type Service } from '../client/service.ts'
import { EVENT_STREAM } from '../contracts/media-types.ts'
import type { HttpProbe, JudgePort } from '../cores/checks/index.ts'
import type { Clock, GuardedFetch, Message } from '../cores/dependencies.ts'
import { localDirectory, validatedDirectory } from '../cores/directory/index.ts'
import type { ChannelPorts, ChatApp, IntegrationChecks } from '../cores/notifications/index.ts'
import type { GitHosts } from '../cores/remotes/index.ts'
import type { EmbeddingModels } from '../cores/search/index.ts'
import type { TrailRoots } from '../cores/trail/index.ts'
import type { Cluster } from '../cores/workloads/index.ts'
import type { OldReads } from '../http/old-reads.ts'
import type { Observation } from '../http/service-app.ts'
import { actorAssertions } from '../trust/actor-assertion.ts'
import { agentRunnerTokens } from '../trust/agent-runner-token.ts'
import { dataKeys } from '../trust/data-key.ts'
import { answerGoesOn, extendAnswer, extendingAnswer, type OpenAnswers } from '../trust/open-answers.ts'
import type { ChannelAdapters } from './channel-adapters.ts'
import type { Config, ServiceName } from './config.ts'
import { createGitHosts } from './git-hosts.ts'
import { limitsOf } from './limits-of.ts'
import { judgePort } from './maintenance-models.ts'
import type { Secrets } from './secrets.ts'
import type { Running } from './running.ts'

/** What tests replace. */
export type Overrides = {
  readonly clock?: Clock
  /** After which a call is answered, whatever became of it. */
  readonly deadlineMs?: number
  readonly connection?: Connection
  /** The embedded engine, when it was opened before this module was loaded. */
  readonly embedded?: Promise<Embedded> | undefined
  readonly mail?: ((message: Message) => Promise<void>) | null
  readonly passwords?: ReturnType<typeof argon2Passwords>
  readonly guardedFetch?: GuardedFetch
  readonly models?: EmbeddingModels
  /** What connecting a channel asks of the outside. */
  readonly checks?: IntegrationChecks
  readonly chatApp?: ChatApp | null
  readonly channels?: ChannelPorts
  readonly probeHttp?: HttpProbe
  readonly judge?: JudgePort
  /** What the agent-runner asks instead of a provider. */
  readonly askModel?: AskModel
  /** The cluster that this process runs in, and the namespaces of organizations that are not known at the start. */
  readonly cluster?: Cluster
  readonly workloadNamespaces?: ReadonlyMap<string, readonly string[]>
  readonly gitHosts?: GitHosts
  /** Calls a service of another process. */
  readonly network?: (base: URL) => Service
}

type Given = {
  readonly config: Config
  readonly overrides: Overrides
  readonly observation: Observation
  readonly secrets: Secrets
  /** Where a service uses the database. */
  readonly connection: Connection | undefined
  /** Where DATABASE_REPLICA_URL names one. */
  readonly oldReads: OldReads | undefined
  /** Where the gateway or the worker runs. */
  readonly channelAdapters: ChannelAdapters | undefined
  /** Of an embedding model beside the built-in one. */
  readonly modelFolder: ModelFolder | undefined
  /** Where the worker runs, and the operator has named a folder. */
  readonly trailRoots: TrailRoots | undefined
  /** What this process writes, and for whom. */
  readonly answers: OpenAnswers
  /** The services of this process, as they come. */
  readonly running: ReadonlyMap<ServiceName, Running>
  /** Closes it with the system. */
  readonly closing: <T extends { close(): Promise<void> | void }>(part: T) => T
}

export type Shared = ReturnType<typeof share>

/** Longer than a judge waits for its model. */
const JUDGE_TIMEOUT_MS = 100_000

export function share(given: Given) {
  const { config, overrides, observation, secrets, connection, running } = given
  const { clock } = observation
  const keys = secrets.DATA_KEY ? dataKeys(secrets.DATA_KEY) : undefined
  const proxy = config.HTTPS_PROXY && outboundProxy(config.HTTPS_PROXY, config.NO_PROXY)
  const assertions = secrets.ACTOR_ASSERTION_SECRET
    ? actorAssertions(secrets.ACTOR_ASSERTION_SECRET, config.AUTH_URL.origin)
    : undefined
  const runnerSecret =
    config.AGENT_RUNNER_SECRET ?? (keys && Buffer.from(keys.keyFor('agent-runner')).toString('hex'))
  const runnerTokens = runnerSecret === undefined ? undefined : agentRunnerTokens(runnerSecret)
  const directory = config.AUTH_MODE === 'hosted' ? validatedDirectory(clock) : localDirectory(clock)
  const servedOrganizations = config.AUTH_MODE === 'hosted' ? new Set(config.HOSTED_ORGS) : undefined

  /** A service in this process is called as a function, any other by its address. Looked up per call, so the order does not matter. */
  const serviceAt = (
    name: ServiceName,
    address = config.API_URL,
    reach = overrides.network ?? overNetwork,
  ): Service =>
    Object.assign((request: Request) => (running.get(name)?.service ?? apart(reach(address)))(request), {
      callInProcess: ((operation, input, options) =>
        running.get(name)?.service?.callInProcess?.(operation, input, options)) satisfies CallInProcess,
    })

  /** In another process. Called without a database, its answer is the lease of what is written by it. */
  const apart =
    (service: Service): Service =>
    async (request) => {
      const askedAt = performance.now()
      if (!connection) request.headers.set(REMOTE_HEADER, '1')
      const response = await service(request)
      if (!connection && response.ok && request.headers.has('authorization')) extendAnswer(askedAt)
      if (response.headers.get('content-type') !== EVENT_STREAM) return response
      answerGoesOn()
      if (connection || !response.ok || !response.body) return response
      return new Response(extendingAnswer(response.body), response)
    }

  const judge =
    overrides.judge ??
    judgePort({
      db: () => connection!.db,
      models: config.MAINTENANCE_MODELS,
      ask: askModelAt(
        serviceAt('agent-runner', config.AGENT_RUNNER_URL, (address) =>
          overNetwork(address, { timeoutMs: JUDGE_TIMEOUT_MS }),
        ),
        async () => runnerTokens!.sign('agent-runner', clock()),
      ),
    })

  return {
    ...given,
    // These are there where a service that asks for them runs.
    connection: connection!,
    storage: () => ({ db: connection!.db, clock, directory, oldReads: given.oldReads }),
    channelAdapters: given.channelAdapters!,
    dataKeys: keys!,
    gitHosts: overrides.gitHosts ?? createGitHosts(config),
    guardedFetch: overrides.guardedFetch ?? guardedFetch({ proxy }),
    fetch: proxiedFetch(proxy),
    proxy,
    mail: overrides.mail === undefined ? mailOf(config) : overrides.mail,
    assertions,
    runnerTokens,
    servedOrganizations,
    hosted: servedOrganizations && {
      assertions: assertions!,
      servedOrganizations,
      operatorToken: config.SVC_OPERATOR_TOKEN,
    },
    judge,
    limits: limitsOf(config),
    runs: (name: ServiceName) => config.SVC_SERVICES.includes(name),
    auth: serviceAt('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
    gateway: serviceAt('api-gateway', config.GATEWAY_URL),
    deploy: serviceAt('deploy-api', config.DEPLOY_URL),
  }
}

const mailOf = ({ SMTP_URL, MAIL_FROM }: Config) =>
  SMTP_URL !== undefined && MAIL_FROM !== undefined ? smtpMail({ url: SMTP_URL, from: MAIL_FROM }) : null
