/** What the databases core exports. */
export { checkDiskQuotas } from './check-disk-quotas.ts'
export {
  CREATES_DATABASE,
  createDatabase,
  createManagedDatabase,
  type DatabaseDeps,
} from './create-database.ts'
export { enforceTenantLimits } from './enforce-tenant-limits.ts'
export type { AttachedDatabases, ManagedDatabases, Queries, SourceConnections } from './managed-databases.ts'
export { isOverDiskQuota, requireDiskQuota } from './disk-quota.ts'
export { readWithOwnLogin, writeToDatabase, writeWithOwnLogin } from './write-to-database.ts'
export {
  accessColumnOf,
  narrowSourceAgain,
  recordAccessChange,
  recordSourceChange,
  setAccessAgain,
} from './source-rights.ts'
export type { TenantDeps, TenantServer } from './tenants.ts'
export {
  findSource,
  readLogin,
  hasSourceId,
  presentSource,
  openSource,
  sourceIdOf,
  type SourceDeps,
  type SourceRow,
} from './source-rows.ts'
