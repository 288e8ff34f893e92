import { and, eq } from '../../../../db/drizzle.ts'
import { integrations, removedIntegrations, subscriptions } from '../../../../db/schema.ts'
import { write, type Verb } from '../../verb.ts'
import { releaseTarget } from '../delivery/hold-target.ts'
import { integrationKey, lockIntegration, recordTurnedOff } from './integration-rows.ts'

/** What is queued for it is dropped by the next worker that prepares it, with that reason in the ledger. */
export const removeIntegration: Verb<'removeIntegration'> = write(
  { audit: 'integration.removed' },
  async ({ tx, clock, orgId, audit }, { integration_id }) => {
    const row = await lockIntegration(tx, orgId, integration_id)
    await tx
      .delete(subscriptions)
      .where(and(eq(subscriptions.orgId, orgId), eq(subscriptions.integrationId, row.id)))
    await tx.delete(integrations).where(integrationKey(row))
    await recordTurnedOff(tx, row)
    if (row.state === 'paused') await releaseTarget(tx, clock, row)
    // The ledger goes on naming it.
    const removed = { orgId, id: row.id, name: row.name, removedAt: clock() }
    await tx.insert(removedIntegrations).values(removed)
    await audit('integration.removed', row.name)
    return {}
  },
)
