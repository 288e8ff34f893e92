import { and, eq, isNull, ne, or } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { isLoad, requireLoad } from './load-rows.ts'

/** What it staged is deleted by the next step. Its last moment cannot be canceled: the table may be in its place already. */
export const cancelLoad =
  ({ db, clock }: Storage): Handler<'cancelLoad'> =>
  (principal, { load_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(principal)
      const { load, source } = await requireLoad(tx, orgId, load_id)
      if (load.state === 'canceled') return {}
      const now = clock()
      const canceled = await tx
        .update(loads)
        .set({ state: 'canceled', updatedAt: now, finishedAt: now, waitsFor: null, waitsUntil: null })
        .where(
          and(
            isLoad(load),
            or(
              eq(loads.state, 'uploading'),
              and(eq(loads.state, 'running'), or(isNull(loads.phase), ne(loads.phase, 'finishing'))),
            ),
          ),
        )
        .returning({ id: loads.id })
      if (canceled.length === 0)
        throw new ServiceError('CONFLICT', 'The load has finished, or is just finishing')
      const subject = `${load.filename || load.id} in ${sourceIdOf(source.name)}`
      await recordAudit(tx, clock, principal, { orgId, action: 'load.canceled', subject })
      return {}
    })
