/** Allows a client to come in by the identity provider, or changes what it may have at most. */
import { eq } from '../../../db/drizzle.ts'
import { identityProviderClients as clients, platformAccessGrants } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { ClientKind } from '../../contracts/grants.ts'
import type { LivenessDeps } from '../grants/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { describeTerms, findClients, presentClients, requireCapacity, type Terms } from './allowed-clients.ts'
import { andEnded, endGrantsOf, findProvider, lockProvider } from './provider-rows.ts'
import { requireOwnerForSensitive } from './require-owner-for-sensitive.ts'
import { throttleFetches } from './throttle-fetches.ts'

export type KnownClient = {
  readonly kind: ClientKind
  readonly name: string | null
  /** The organization made it. */
  readonly isOwn: boolean
}

export type ClientDeps = {
  /**
   * Knows registered clients, and fetches and keeps the document of others; throws when there is none to allow. One that
   * another organization made is unknown.
   */
  readonly findClient: (clientId: string, orgId: string) => Promise<KnownClient>
}

export const allowIdentityProviderClient: Verb<'allowIdentityProviderClient', LivenessDeps & ClientDeps> =
  writeInSteps(
    { author: 'admin', audit: 'identity_provider.client_allowed' },
    async (context, { client_id: clientId, may_be_public, max_scopes, resources }) => {
      const { db, clock, member, orgId, findClient, transaction } = context
      requireOwnerForSensitive(member, max_scopes)
      await findProvider(db, orgId)
      await throttleFetches(context, orgId)
      const { kind, name, isOwn } = await findClient(clientId, orgId)
      return transaction(async ({ tx, member, audit }) => {
        requireOwnerForSensitive(member, max_scopes)
        const provider = await lockProvider(tx, orgId)
        const terms: Terms = {
          mayBePublic: may_be_public,
          maxScopes: [...new Set(max_scopes)],
          resources: [...new Set(resources)],
        }
        const [before] = await findClients(tx, provider.id, { clientId })
        // Allowed since it was made: somebody has just forbidden it, and so it is gone.
        if (!before && isOwn) throw notFound()
        if (!before) await requireCapacity(tx, provider.id)
        await tx
          .insert(clients)
          .values({ providerId: provider.id, clientId, kind, name, ...terms, createdAt: clock() })
          .onConflictDoUpdate({
            target: [clients.providerId, clients.clientId],
            set: { kind, name, ...terms },
          })
        const ended =
          before && isNarrower(before.client, terms)
            ? await endGrantsOf(
                tx,
                clock,
                provider,
                'rules_changed',
                eq(platformAccessGrants.clientId, clientId),
              )
            : 0
        if (!before || !isSame(before.client, terms)) {
          await audit(
            'identity_provider.client_allowed',
            andEnded(describeTerms(name ?? clientId, terms), ended),
          )
        }
        const rows = await findClients(tx, provider.id, { clientId })
        return (await presentClients({ ...context, db: tx }, provider.id, rows))[0]!
      })
    },
  )

const lacks = <Item>(before: readonly Item[], after: readonly Item[]): boolean =>
  before.some((item) => !after.includes(item))

const isNarrower = (before: Terms, after: Terms): boolean =>
  lacks(before.maxScopes, after.maxScopes) ||
  lacks(before.resources, after.resources) ||
  (before.mayBePublic && !after.mayBePublic)

const isSame = (before: Terms, after: Terms): boolean =>
  !isNarrower(before, after) && !isNarrower(after, before)
