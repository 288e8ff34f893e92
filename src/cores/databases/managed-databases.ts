/** Ports of the databases that people bring or have made: where they are made, and how a question reaches one. */
import type { SourceKind } from '../../contracts/data-sources.ts'

/** What a client needs to know to connect. */
export type Address = {
  readonly host: string
  readonly port: number
  /** As `sslmode` of a connection string. */
  readonly ssl: 'disable' | 'prefer' | 'require' | 'verify-full'
}
export type Login = Address & {
  readonly user: string
  readonly password: string
  readonly database: string
}

/** Where managed databases are made: one server, or the embedded engine. */
export type ManagedDatabases = {
  readonly kind: Exclude<SourceKind, 'attached'>
  address(): Promise<Address>
  /** Database, login and extension; safe to repeat after a kill at any point. Throws ServiceError with a sentence for people. */
  create(physicalName: string, verifier: string, login: () => Promise<Login>): Promise<void>
  /** Safe to repeat. */
  remove(physicalName: string): Promise<void>
}

/** Adopts what exists: checks the address against the operator's list and the server against our needs. */
export type AttachedDatabases = {
  /** Every problem, or the login to keep. Throws ServiceError. */
  examine(url: string): Promise<Login>
}

/** One round trip to a managed database. The session is read-only and bounded in time. */
export type Queries = {
  query<Row extends object>(text: string, parameters?: readonly (string | null)[]): Promise<readonly Row[]>
}

/** Keeps a few connections per database. A key that was let go of closes them. */
export type SourceConnections = {
  reach(key: string, kind: SourceKind, login: () => Promise<Login>): Queries
  letGo(key: string): Promise<void>
}
