import { and, desc, eq } from '../../../../db/drizzle.ts'
import { integrations, recoveries } from '../../../../db/schema.ts'
import { RECOVERIES_SHOWN } from '../../../contracts/deliveries.ts'
import { notFound } from '../../../contracts/errors.ts'
import { integrationKey } from '../integrations/integration-rows.ts'
import { read, type Verb } from '../../verb.ts'

export const listRecoveries: Verb<'listRecoveries'> = read(async ({ db, orgId }, { integration_id }) => {
  if ((await db.$count(integrations, integrationKey({ orgId, id: integration_id }))) === 0) throw notFound()
  const rows = await db
    .select()
    .from(recoveries)
    .where(and(eq(recoveries.orgId, orgId), eq(recoveries.integrationId, integration_id)))
    .orderBy(desc(recoveries.id))
    .limit(RECOVERIES_SHOWN)
  return { recoveries: rows.map(presentRecovery) }
})

export const presentRecovery = (row: typeof recoveries.$inferSelect) => ({
  id: row.id,
  integration_id: row.integrationId,
  since: row.since.toISOString(),
  include_unconfirmed: row.includesUnconfirmed,
  state: row.state,
  queued: row.queued,
  created_at: row.createdAt.toISOString(),
  ended_at: row.endedAt?.toISOString() ?? null,
})
