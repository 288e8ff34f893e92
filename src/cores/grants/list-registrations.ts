/** Dynamic registrations for the operator: those that take a slot, and those that were turned off. */
import { and, count, desc, eq, gt, lt, or } from '../../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { DYNAMIC_CLIENTS } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { isLive } from './grant-filters.ts'
import type { LivenessDeps } from './live-grant.ts'

export const listRegistrations =
  (deps: LivenessDeps): Handler<'listRegistrations'> =>
  async (_principal, { limit, cursor }) => {
    const addresses = await usedByAddress(deps)
    const rows = await registrationRows(deps, limit + 1, cursor)
    const page = pageOf(rows, limit, ({ client }) => [client.clientId])
    return {
      slots: {
        used: addresses.reduce((sum, { used }) => sum + used, 0),
        total: DYNAMIC_CLIENTS.active,
        per_origin: DYNAMIC_CLIENTS.perOrigin,
        per_address: DYNAMIC_CLIENTS.perAddress,
      },
      addresses,
      registrations: page.rows.map(present),
      next_cursor: page.next_cursor,
    }
  }

const isDynamic = eq(platformOauthClients.kind, 'dynamic')

const isUnexpired = ({ clock }: LivenessDeps) => gt(platformOauthClients.expiresAt, clock())

async function usedByAddress(deps: LivenessDeps): Promise<{ address: string; used: number }[]> {
  const rows = await deps.db
    .select({ address: platformOauthClients.registeredFrom, used: count() })
    .from(platformOauthClients)
    .where(and(isDynamic, eq(platformOauthClients.isActive, true), isUnexpired(deps)))
    .groupBy(platformOauthClients.registeredFrom)
    .orderBy(desc(count()), platformOauthClients.registeredFrom)
  return rows.map(({ address, used }) => ({ address: address ?? 'unknown', used }))
}

function registrationRows(deps: LivenessDeps, limit: number, cursor: string | undefined) {
  const before = readCursor(cursor, 1)?.[0]
  const liveGrants = count(platformAccessGrants.id)
  return deps.db
    .select({ client: platformOauthClients, liveGrants })
    .from(platformOauthClients)
    .leftJoin(
      platformAccessGrants,
      and(eq(platformAccessGrants.clientId, platformOauthClients.clientId), isLive(deps)),
    )
    .where(
      and(
        isDynamic,
        or(eq(platformOauthClients.isActive, false), isUnexpired(deps)),
        before === undefined ? undefined : lt(platformOauthClients.clientId, before),
      ),
    )
    .groupBy(platformOauthClients.clientId)
    .orderBy(desc(platformOauthClients.clientId))
    .limit(limit)
}

type Row = Awaited<ReturnType<typeof registrationRows>>[number]

function present({ client, liveGrants }: Row) {
  const { client_name, redirect_uris } = client.metadata as { client_name?: string; redirect_uris?: string[] }
  return {
    client_id: client.clientId,
    name: client_name ?? null,
    redirect_uris: redirect_uris ?? [],
    origin: client.originKey?.startsWith('https://') ? client.originKey : null,
    address: client.registeredFrom,
    is_active: client.isActive,
    live_grants: liveGrants,
    created_at: client.createdAt.toISOString(),
    last_used_at: client.lastUsedAt?.toISOString() ?? null,
    expires_at: client.expiresAt?.toISOString() ?? null,
  }
}
