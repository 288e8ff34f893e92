/** The limits that are settings, in the units that they are counted in. */
import type { TenantLimits } from '../contracts/tenant-limits.ts'
import type { Config } from './config.ts'

const MIB = 1024 * 1024

export const limitsOf = (config: Config) => ({
  questionLimits: { perMinute: config.QUESTIONS_PER_MINUTE, perDay: config.QUESTIONS_PER_DAY },
  embeddingTokensPerDay: config.EMBEDDING_TOKENS_PER_DAY,
  mcpCallsPerMinute: config.MCP_CALLS_PER_MINUTE,
  organizationsPerPerson: config.ORGANIZATIONS_PER_PERSON,
  sourceStorageBytes: config.SOURCE_STORAGE_MIB * MIB,
  logLimits: { linesPerMinute: config.LOG_LINES_PER_MINUTE, bytesPerApp: config.LOG_MIB_PER_APP * MIB },
  appEventsPerDay: config.APP_EVENTS_PER_DAY,
  activityDays: config.ACTIVITY_DAYS,
  deliveryDays: config.DELIVERY_DAYS,
  removedTrailDays: config.REMOVED_TRAIL_DAYS,
  tenantLimits: {
    statementSeconds: config.MANAGED_STATEMENT_SECONDS,
    idleTransactionSeconds: config.MANAGED_IDLE_TRANSACTION_SECONDS,
    temporaryFileBytes: config.MANAGED_TEMP_FILE_MB * MIB,
    connections: config.MANAGED_CONNECTIONS,
    diskBytes: config.MANAGED_DISK_MB * MIB,
  } satisfies TenantLimits,
})
