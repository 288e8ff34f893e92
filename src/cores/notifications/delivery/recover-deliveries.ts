import { recoveries } from '../../../../db/schema.ts'
import { notify } from '../../../../db/listen.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { makeId } from '../../../contracts/ids.ts'
import { lockIntegration } from '../integrations/integration-rows.ts'
import { write, type Verb } from '../../verb.ts'
import { idBefore } from './delivery-rows.ts'
import { presentRecovery } from './list-recoveries.ts'

/** Only begins it: the workers do it, a little at a time. */
export const recoverDeliveries: Verb<'recoverDeliveries'> = write(
  { audit: 'delivery.recovered' },
  async ({ tx, clock, orgId, userId, audit }, { integration_id, since, include_unconfirmed }) => {
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
    await notify(tx, 'recoveries')
    await audit('delivery.recovered', `${integration.name} since ${since}`)
    return presentRecovery(started)
  },
)
