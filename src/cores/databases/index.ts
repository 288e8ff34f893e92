/** What the databases core exports. */
export { attachDatabase } from './attach-database.ts'
export { showConnectionString } from './show-connection-string.ts'
export { createDatabase, type DatabaseDeps } from './create-database.ts'
export type { AttachedDatabases, ManagedDatabases, Queries, SourceConnections } from './managed-databases.ts'
export { removeDatabase } from './remove-database.ts'
export {
  nameContains,
  findSource,
  readLogin,
  hasSourceId,
  presentSource,
  openSource,
  sourceIdOf,
  type SourceDeps,
  type SourceRow,
} from './source-rows.ts'
