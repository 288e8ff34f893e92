/** Dynamic registrations for the operator: those that take a slot, and those that were turned off. */
import { and, count, desc, eq, gt, or } from '../../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { DYNAMIC_CLIENTS } from '../../contracts/limits.ts'
import { list, type Verb } from '../list.ts'
import { isLive } from './grant-filters.ts'
import type { LivenessDeps } from './live-grant.ts'

export const listRegistrations: Verb<'listRegistrations', LivenessDeps> = list(
  { by: 'principal', rows: 'registrations', desc: [platformOauthClients.clientId] },
  async (context) => {
    const addresses = await usedByAddress(context)
    return {
      slots: {
        used: addresses.reduce((sum, { used }) => sum + used, 0),
        total: DYNAMIC_CLIENTS.active,
        per_origin: DYNAMIC_CLIENTS.perOrigin,
        per_address: DYNAMIC_CLIENTS.perAddress,
      },
      addresses,
      ...(await context.page({
        from: () => registrationRows(context),
        where: and(isDynamic, or(eq(platformOauthClients.isActive, false), isUnexpired(context))),
        key: ({ client }) => [client.clientId],
        present: (rows) => rows.map(present),
      })),
    }
  },
)

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

const registrationRows = (deps: LivenessDeps) =>
  deps.db
    .select({ client: platformOauthClients, liveGrants: count(platformAccessGrants.id) })
    .from(platformOauthClients)
    .leftJoin(
      platformAccessGrants,
      and(eq(platformAccessGrants.clientId, platformOauthClients.clientId), isLive(deps)),
    )
    .groupBy(platformOauthClients.clientId)

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
