/** What SCIM needs, by name. */
import type { Transaction } from '../../../db/connect.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { Clock } from '../dependencies.ts'

export type ScimDeps = {
  /** Where the auth service is reached from outside. */
  readonly issuer: URL
  readonly providers: readonly SignInProvider[]
}

export type SignInProvider = {
  readonly name: string
  readonly title: string
  /** Undefined: it has none without a tenant, none with one, or does not let that tenant in. */
  issuerOf(tenant: string | undefined): string | undefined
}

/** A validated SCIM bearer: it acts in its organization, and as nobody. */
export type ScimPrincipal = Principal & {
  readonly kind: 'scim_bearer'
  readonly orgId: string
  readonly tokenId: string
  readonly issuer: string
}

/** One request of a directory, which is one transaction. */
export type ScimContext = {
  readonly tx: Transaction
  readonly clock: Clock
  readonly orgId: string
  readonly bearer: ScimPrincipal
}
