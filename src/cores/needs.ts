/** What verbs need from outside, by name. `system.ts` builds every one of them once. */
import type { Handle } from '../../db/connect.ts'
import type { KeyPurpose } from '../trust/derive-key.ts'

export type Clock = () => Date

export type Storage = { readonly db: Handle; readonly clock: Clock }

export type Keys = { readonly keyFor: (purpose: KeyPurpose) => Uint8Array }

export type Message = { readonly to: string; readonly subject: string; readonly text: string }

/** Null when no mail server is set: links are then shown to whoever asked for them. */
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

/** Warnings a verb has for whoever runs the installation. */
export type Log = { readonly log: { warn(event: string, fields?: Record<string, unknown>): void } }

/** An outgoing fetch that somebody else's text may steer: public addresses only, no redirects, bounded in every way. */
export type GuardedFetch = (
  url: string,
  how: { headers?: Record<string, string>; maxBytes: number; deadlineMs: number },
) => Promise<{ status: number; headers: Headers; body: Uint8Array }>
