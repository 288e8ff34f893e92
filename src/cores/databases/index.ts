/** The face of the databases core. */
export { adoptDatabase } from './attach-database.ts'
export { readConnection } from './connection-string.ts'
export { makeDatabase, type DatabaseNeeds } from './create-database.ts'
export type { AttachedDatabases, ManagedDatabases, Queries, SourceConnections } from './managed-databases.ts'
export { dropDatabase } from './remove-database.ts'
export {
  calledLike,
  findSource,
  loginOf,
  named,
  presentSource,
  reach,
  sourceIdOf,
  type ReachNeeds,
  type SourceRow,
} from './source-rows.ts'
