/** The clients with a grant in the organization, live or not, and those it blocks. Machine agents have their own list. */
import { sql } from '../../../db/drizzle.ts'
import { organizationClientBlocks, platformAccessGrants } from '../../../db/schema.ts'
import type { ClientKind } from '../../contracts/grants.ts'
import { list, type Verb } from '../list.ts'
import type { LivenessDeps } from './live-grant.ts'
import { isMetadataUrl } from './metadata-url.ts'

type ClientRow = {
  client_id: string
  kind: ClientKind | null
  name: string | null
  host: string | null
  live: number
  blocked: boolean
  last_used: string | null
}

export const listOauthClients: Verb<'listOauthClients', LivenessDeps> = list(
  { rows: 'oauth_clients', cursor: 1 },
  async ({ db, clock, orgId, keyEpoch, after, page }, { limit }) => {
    const now = clock().toISOString()
    const read = async () =>
      (await db.execute(sql`
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
      where coalesce(granted.client_id, blocks.client_id) > ${after?.[0] ?? ''}
        and (granted.kind is distinct from 'machine' or blocks.client_id is not null)
      order by 1 limit ${limit + 1}`)) as unknown as ClientRow[]
    return page({
      rows: read,
      key: (row) => [row.client_id],
      present: (rows) =>
        rows.map((row) => ({
          client_id: row.client_id,
          kind: row.kind ?? kindOf(row.client_id),
          name: row.name,
          host: isMetadataUrl(row.client_id) ? new URL(row.client_id).host : row.host,
          live_grants: row.live,
          blocked: row.blocked,
          last_used_at: row.last_used === null ? null : new Date(row.last_used).toISOString(),
        })),
    })
  },
)

/** Of a client that was blocked before it had a grant. */
const kindOf = (clientId: string): ClientKind => (isMetadataUrl(clientId) ? 'metadata_document' : 'dynamic')
