/** What the verbs of the identity provider need beside the database. */
import type { GuardedFetch, Keys } from '../dependencies.ts'
import type { LivenessDeps } from '../grants/index.ts'
import type { SignInProvider } from '../scim/index.ts'
import type { ProviderKeys } from './provider-keys.ts'

export type ProviderDeps = LivenessDeps &
  Keys & {
    readonly guardedFetch: GuardedFetch
    readonly providerKeys: ProviderKeys
    /** Our own issuer: the audience of every assertion. */
    readonly issuer: URL
    readonly mcpUrl: URL
    /** How people sign in themselves. */
    readonly passwordSignIn: boolean
    readonly providers: readonly SignInProvider[]
  }
