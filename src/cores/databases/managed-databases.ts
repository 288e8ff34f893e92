/** Ports to managed databases: where they are created, how existing ones are attached, how one is queried. */
import type { SourceKind } from '../../contracts/data-sources.ts'

/** What a client needs to connect. */
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

/** Creates databases on one server, or on the embedded engine. */
export type ManagedDatabases = {
  readonly kind: Exclude<SourceKind, 'attached'>
  address(): Promise<Address>
  /** Database, login and extension; safe to repeat after a crash at any point. Throws ServiceError. */
  create(physicalName: string, verifier: string, login: () => Promise<Login>): Promise<void>
  /** Another password, and the end of the connections with the one before; safe to repeat. */
  rotate(physicalName: string, verifier: string, login: () => Promise<Login>): Promise<void>
  /** Safe to repeat. */
  remove(physicalName: string): Promise<void>
  /** Whom our questions log in as, who is there afterwards; undefined: as everybody does. */
  questionLogin(physicalName: string): Promise<Pick<Login, 'user' | 'password'> | undefined>
}

/** Checks the address of an existing database against the operator's list, and the server against our needs. */
export type AttachedDatabases = {
  /** The login to store. Throws ServiceError with every problem. */
  check(url: string): Promise<Login>
}

/** One round trip to a managed database. The session is read-only and bounded in time. */
export type Queries = {
  query<Row extends object>(text: string, parameters?: readonly (string | null)[]): Promise<readonly Row[]>
}

/** Keeps a few connections per database, until its key is released. */
export type SourceConnections = {
  /** `owner`: the organization whose questions they are. */
  open(key: string, kind: SourceKind, owner: string, login: () => Promise<Login>): Queries
  release(key: string): Promise<void>
}
