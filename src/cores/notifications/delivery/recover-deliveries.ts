import { recoveries } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import type { Storage } from '../../dependencies.ts'
import { requireMember } from '../../principal.ts'
import { withTransaction } from '../../transaction.ts'
import { lockIntegration } from '../integrations/integration-rows.ts'
import { idBefore } from './delivery-rows.ts'
import { presentRecovery } from './list-recoveries.ts'

/** Only begins it: the workers do it, a little at a time. */
export const recoverDeliveries =
  ({ db, clock }: Storage): Handler<'recoverDeliveries'> =>
  (who, { integration_id, since, include_unconfirmed }) =>
    withTransaction(db, async (tx) => {
      const { orgId, userId } = requireMember(who)
      const integration = await lockIntegration(tx, orgId, integration_id)
      if (integration.state !== 'active') {
        throw new ServiceError('CONFLICT', 'The integration is not active', { hint: 'Turn it on first.' })
      }
      const now = clock()
      const [started] = await tx
        .insert(recoveries)
        .values({
          orgId,
          id: makeId('rcv', now.getTime()),
          integrationId: integration.id,
          since: new Date(since),
          includesUnconfirmed: include_unconfirmed,
          state: 'running',
          cursor: idBefore(new Date(since)),
          nextAt: now,
          createdAt: now,
          createdBy: userId,
        })
        .onConflictDoNothing()
        .returning()
      if (!started) throw new ServiceError('CONFLICT', 'A recovery of this integration is running already')
      const subject = `${integration.name} since ${since}`
      await recordAudit(tx, clock, who, { orgId, action: 'delivery.recovered', subject })
      return presentRecovery(started)
    })
