import { and, eq } from '../../../../db/drizzle.ts'
import { integrations, removedIntegrations, subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { integrationKey, lockIntegration } from './integration-rows.ts'

/** What is queued for it is dropped by the next worker that prepares it, with that reason in the ledger. */
export const removeIntegration =
  ({ db, clock }: Storage): Handler<'removeIntegration'> =>
  (who, { integration_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(who)
      const row = await lockIntegration(tx, orgId, integration_id)
      await tx
        .delete(subscriptions)
        .where(and(eq(subscriptions.orgId, orgId), eq(subscriptions.integrationId, row.id)))
      await tx.delete(integrations).where(integrationKey(row))
      // The ledger goes on naming it.
      const removed = { orgId, id: row.id, name: row.name, removedAt: clock() }
      await tx.insert(removedIntegrations).values(removed)
      await recordAudit(tx, clock, who, { orgId, action: 'integration.removed', subject: row.name })
      return {}
    })
