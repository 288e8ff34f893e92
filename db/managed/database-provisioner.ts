/** What creates and removes managed databases: this process, another one with the same data folder, or a server. */
import type { TlsMode } from './open-socket.ts'

export type Address = { readonly host: string; readonly port: number; readonly ssl: TlsMode }
export type Login = Address & { readonly user: string; readonly password: string; readonly database: string }

export type DatabaseProvisioner = {
  readonly kind: 'embedded' | 'postgres'
  address(): Promise<Address>
  create(physicalName: string, verifier: string, login: () => Promise<Login>): Promise<void>
  /** Another password, and the end of the connections with the one before. */
  rotate(physicalName: string, verifier: string, login: () => Promise<Login>): Promise<void>
  remove(physicalName: string): Promise<void>
  /** Whom our questions log in as; undefined: as everybody does. */
  questionLogin(physicalName: string): Promise<Pick<Login, 'user' | 'password'> | undefined>
  /** Serves connections before the first question. */
  open(): Promise<void>
  close(): Promise<void>
}
