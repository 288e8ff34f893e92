/** Clients as an organization sees them, and the two ways to shut one out: here, or everywhere. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { organizationClientBlocks, platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type {
  ClientKind,
  blockOauthClient,
  listOauthClients,
  setClientActive,
} from '../../contracts/grants.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import type { LivenessNeeds } from './live-grant.ts'

type Seen = {
  client_id: string
  kind: ClientKind | null
  name: string | null
  host: string | null
  live: number
  blocked: boolean
  last_used: string | null
}

export const clientsOf =
  ({ db, clock, keyEpoch }: LivenessNeeds): Handler<typeof listOauthClients> =>
  async (who, { limit, cursor }) => {
    const { orgId } = asMember(who)
    const after = readCursor(cursor, 1)?.[0] ?? ''
    const now = clock().toISOString()
    const rows = (await db.execute(sql`
      with granted as (
        select g.client_id, max(g.client_kind) as kind, max(g.client_name) as name, max(g.redirect_host) as host,
          max(g.last_used_at) as last_used,
          count(*) filter (where g.revoked_at is null and g.expires_at > ${now}::timestamptz and g.key_epoch = ${keyEpoch})::int as live
        from ${platformAccessGrants} g where g.org_id = ${orgId} group by g.client_id
      ), blocks as (
        select b.client_id from ${organizationClientBlocks} b where b.org_id = ${orgId}
      )
      select coalesce(granted.client_id, blocks.client_id) as client_id, granted.kind, granted.name, granted.host,
        coalesce(granted.live, 0) as live, blocks.client_id is not null as blocked, granted.last_used::text as last_used
      from granted full join blocks on blocks.client_id = granted.client_id
      where coalesce(granted.client_id, blocks.client_id) > ${after}
      order by 1 limit ${limit + 1}`)) as unknown as Seen[]
    const page = pageOf(rows, limit, (row) => [row.client_id])
    return {
      oauth_clients: page.rows.map((row) => ({
        client_id: row.client_id,
        kind: row.kind ?? kindOf(row.client_id),
        name: row.name,
        host: isUrl(row.client_id) ? new URL(row.client_id).host : row.host,
        live_grants: row.live,
        blocked: row.blocked,
        last_used_at: row.last_used === null ? null : new Date(row.last_used).toISOString(),
      })),
      next_cursor: page.next_cursor,
    }
  }

const isUrl = (clientId: string): boolean => clientId.startsWith('https://') && URL.canParse(clientId)
const kindOf = (clientId: string): ClientKind => (isUrl(clientId) ? 'metadata_document' : 'dynamic')

export const blockHere =
  ({ db, clock }: Storage): Handler<typeof blockOauthClient> =>
  (who, { client_id, blocked }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const changed = blocked
        ? await tx
            .insert(organizationClientBlocks)
            .values({ orgId, clientId: client_id, since: clock() })
            .onConflictDoNothing()
            .returning()
        : await tx
            .delete(organizationClientBlocks)
            .where(
              and(
                eq(organizationClientBlocks.orgId, orgId),
                eq(organizationClientBlocks.clientId, client_id),
              ),
            )
            .returning()
      if (changed.length > 0) {
        const action = blocked ? 'client.blocked' : 'client.unblocked'
        await recordAudit(tx, clock, caller, { orgId, action, subject: client_id })
      }
      return {}
    })

/** Off for an unknown metadata URL inserts the row that blocks it; on never creates one. */
export const switchClient =
  ({ db, clock }: Storage): Handler<typeof setClientActive> =>
  (caller, { client_id, is_active }) =>
    withTransaction(db, async (tx) => {
      const [known] = await tx
        .update(platformOauthClients)
        .set({ isActive: is_active })
        .where(eq(platformOauthClients.clientId, client_id))
        .returning({ id: platformOauthClients.clientId })
      if (!known && (is_active || !isUrl(client_id))) throw notFound()
      if (!known) await insertBlock(tx, clock, client_id)
      // Told to every organization that the client has a grant in: its agents stop, and somebody will ask why.
      const concerned = await tx
        .selectDistinct({ orgId: platformAccessGrants.orgId })
        .from(platformAccessGrants)
        .where(eq(platformAccessGrants.clientId, client_id))
      const action = is_active ? 'client.switched_on' : 'client.switched_off'
      for (const { orgId } of concerned) {
        await recordAudit(tx, clock, caller, { orgId, action, subject: client_id })
      }
      return { client_id, is_active }
    })

async function insertBlock(tx: Transaction, clock: Storage['clock'], clientId: string): Promise<void> {
  await tx
    .insert(platformOauthClients)
    .values({ clientId, kind: 'metadata_document', isActive: false, createdAt: clock() })
    .onConflictDoUpdate({ target: platformOauthClients.clientId, set: { isActive: false } })
}
