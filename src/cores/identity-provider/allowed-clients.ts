/** The clients that may come in by the identity provider, as the API returns them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, count, eq, gt, inArray, sql } from '../../../db/drizzle.ts'
import {
  identityProviderClients as clients,
  oauthMetadataDocuments,
  platformAccessGrants,
  platformOauthClients,
} from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { IDENTITY_PROVIDER } from '../../contracts/limits.ts'
import { isLiveGrant, type LivenessDeps } from '../grants/index.ts'

type ClientRow = typeof clients.$inferSelect
export type Terms = Pick<ClientRow, 'mayBePublic' | 'maxScopes' | 'resources'>

/** By its id, or in the order of their ids after one. */
export function findClients(
  db: Handle,
  providerId: string,
  which: { readonly clientId: string } | { readonly after: string; readonly limit: number },
) {
  // A client without a method has none: that is the default of the authorization server.
  const method = sql<string>`coalesce(${platformOauthClients.metadata} ->> 'token_endpoint_auth_method', ${oauthMetadataDocuments.document} ->> 'token_endpoint_auth_method', 'none')`
  // Those of others are never on the list.
  const isOwn = sql<boolean>`${platformOauthClients.orgId} is not null`
  return db
    .select({ client: clients, method, isOwn })
    .from(clients)
    .leftJoin(platformOauthClients, eq(platformOauthClients.clientId, clients.clientId))
    .leftJoin(oauthMetadataDocuments, eq(oauthMetadataDocuments.url, clients.clientId))
    .where(
      and(
        eq(clients.providerId, providerId),
        'clientId' in which ? eq(clients.clientId, which.clientId) : gt(clients.clientId, which.after),
      ),
    )
    .orderBy(clients.clientId)
    .limit('limit' in which ? which.limit : 1)
}

export async function presentClients(
  deps: LivenessDeps,
  providerId: string,
  rows: readonly { client: ClientRow; method: string; isOwn: boolean }[],
) {
  const live = await countLiveGrants(
    deps,
    providerId,
    rows.map(({ client }) => client.clientId),
  )
  return rows.map(({ client, method, isOwn }) => ({
    client_id: client.clientId,
    kind: client.kind,
    name: client.name,
    is_public: method === 'none',
    may_be_public: client.mayBePublic,
    is_own: isOwn,
    max_scopes: client.maxScopes,
    resources: client.resources,
    live_grants: live.get(client.clientId) ?? 0,
    created_at: client.createdAt.toISOString(),
    last_used_at: client.lastUsedAt?.toISOString() ?? null,
  }))
}

async function countLiveGrants(
  deps: LivenessDeps,
  providerId: string,
  clientIds: readonly string[],
): Promise<Map<string, number>> {
  if (clientIds.length === 0) return new Map()
  const rows = await deps.db
    .select({ clientId: platformAccessGrants.clientId, count: count() })
    .from(platformAccessGrants)
    .where(
      and(
        eq(platformAccessGrants.identityProviderId, providerId),
        inArray(platformAccessGrants.clientId, [...clientIds]),
        isLiveGrant(deps),
      ),
    )
    .groupBy(platformAccessGrants.clientId)
  return new Map(rows.map((row) => [row.clientId, row.count]))
}

/** Under the lock of the provider: a burst stays below the limit. */
export async function requireCapacity(tx: Transaction, providerId: string): Promise<void> {
  const [allowed] = await tx
    .select({ count: count() })
    .from(clients)
    .where(eq(clients.providerId, providerId))
  if (allowed!.count < IDENTITY_PROVIDER.clients) return
  throw new ServiceError('CONFLICT', `At most ${IDENTITY_PROVIDER.clients} clients may be allowed`, {
    hint: 'Forbid one first.',
  })
}

/** The subject of an audit row. */
export const describeTerms = (name: string, { maxScopes, resources, mayBePublic }: Terms): string =>
  `${name}: ${maxScopes.join(' ')} at ${resources.join(' and ')}${mayBePublic ? ', also without proving who it is' : ''}`
