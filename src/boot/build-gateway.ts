/** The api-gateway of a process. */
import { createDocumentReader } from '../adapters/documents/index.ts'
import { createEmbeddingModels } from '../adapters/embeddings/index.ts'
import { keptFetch } from '../adapters/outbound/proxied-fetch.ts'
import type { Service } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { FAIR_QUEUES } from '../contracts/fair-queues.ts'
import { createTextEmbedding } from '../cores/embeddings/index.ts'
import { createTableInfoCache } from '../cores/search/index.ts'
import { createTurns } from '../cores/work/index.ts'
import { createGateway, type GatewayDeps } from '../http/gateway.ts'
import { startLoads } from '../worker/loads.ts'
import { startRemovedOrganizations } from '../worker/removed-organizations.ts'
import { createManaged } from './managed-databases.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'
import { VERSION } from './version.ts'

export function buildGateway(shared: Shared): Running {
  const { config, overrides, observation, connection, channelAdapters, dataKeys, limits, closing } = shared
  const ownModels = overrides.models
    ? undefined
    : closing(
        createEmbeddingModels(config.EMBEDDING_MODELS, {
          fetch: closing(keptFetch(shared.proxy)).fetch,
          threadsMax: config.EMBEDDING_THREADS,
          folder: shared.modelFolder,
          log: observation.log,
        }),
      )
  const models = overrides.models ?? ownModels!
  const managed = closing(
    createManaged({ config, connection, dataKeys, tenantLimits: limits.tenantLimits, log: observation.log }),
  )
  const documents = closing(createDocumentReader())
  const deps: GatewayDeps = {
    ...observation,
    ...shared.storage(),
    ...managed,
    dataKeys,
    models,
    embedTexts: createTextEmbedding(models),
    embeddingTokensPerDay: limits.embeddingTokensPerDay,
    tableInfo: createTableInfoCache(),
    readDocument: documents.readDocument,
    divideTexts: documents.divideTexts,
    readTable: documents.readTable,
    tablePreviews: createTurns(FAIR_QUEUES.tablePreviews, () => performance.now()),
    questionLimits: limits.questionLimits,
    auth: shared.auth,
    deploy: shared.runs('deploy-api') || config.DEPLOY_URL ? shared.deploy : unavailable,
    checks: overrides.checks ?? channelAdapters.checks,
    chatApp: overrides.chatApp === undefined ? channelAdapters.chatApp : overrides.chatApp,
    mail: shared.mail,
    siteUrl: config.SITE_URL,
    mailFrom: config.SMTP_URL === undefined ? null : (config.MAIL_FROM ?? null),
    apiUrl: config.API_URL,
    appUrl: config.APP_URL,
    mcpUrl: config.MCP_URL,
    operatorToken: config.SVC_OPERATOR_TOKEN,
    version: VERSION,
    hosted: shared.hosted,
  }
  return {
    ...asService(createGateway(deps)),
    startJobs() {
      const loops = [
        startLoads(deps),
        startRemovedOrganizations({ ...deps, removedTrailDays: limits.removedTrailDays }),
      ]
      return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) }
    },
    warnings: () => ownModels?.warnings() ?? [],
    managed,
    gateway: deps,
  }
}

/** For the deploy-api without an address: its public one is the gateway's, which would call itself for ever. */
const unavailable: Service = async () => {
  throw new ServiceError('TIMEOUT', 'A service that this request needs does not run here', {
    cause: 'DEPLOY_URL is not set, and the deploy-api does not run in this process',
  })
}
