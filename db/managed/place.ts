/** Where managed databases are made, whichever kind of place it is. */
import type { TlsMode } from './open-socket.ts'

export type Address = { readonly host: string; readonly port: number; readonly ssl: TlsMode }
export type Login = Address & { readonly user: string; readonly password: string; readonly database: string }

export type Place = {
  readonly kind: 'embedded' | 'postgres'
  address(): Promise<Address>
  create(physicalName: string, verifier: string, login: () => Promise<Login>): Promise<void>
  remove(physicalName: string): Promise<void>
  /** Lets people connect before anybody asked a question. */
  open(): Promise<void>
  close(): Promise<void>
}
