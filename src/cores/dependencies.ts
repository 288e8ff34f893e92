/** Dependencies that several verbs share. `src/boot` builds each of them once. */
import type { Handle } from '../../db/connect.ts'
import type { KeyPurpose } from '../trust/derive-key.ts'
import type { ComposedMail } from './mail-template.ts'

export type Clock = () => Date

export type Storage = {
  readonly db: Handle
  readonly clock: Clock
  /** A standby, for rows that may be old; never for who may read them. Left out: the database itself. */
  readonly old?: Handle
}

export type Keys = { readonly keyFor: (purpose: KeyPurpose) => Uint8Array }

export type Message = ComposedMail & { readonly to: string }

/** Null when no mail server is configured: links are then returned to whoever asked for them. */
export type Mail = { readonly mail: ((message: Message) => Promise<void>) | null }

/** Slow on purpose, and in native threads: never on the request thread. */
export type PasswordHashing = {
  readonly passwords: {
    hash(password: string): Promise<string>
    verify(hash: string, password: string): Promise<boolean>
    /** Costs as much as a real check and always fails: an unknown address must not answer sooner. */
    verifyNothing(password: string): Promise<false>
  }
}

/** Warnings for whoever runs the installation. */
export type Log = { readonly log: { warn(event: string, fields?: Record<string, unknown>): void } }

/** An outgoing fetch to an address from outside: public addresses only, no redirects, limits on size and time. */
export type GuardedFetch = (
  url: string,
  options: { headers?: Record<string, string>; maxBytes: number; deadlineMs: number },
) => Promise<{ status: number; headers: Headers; body: Uint8Array }>
