import { and, eq, isNull, ne, or } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { notifyChange } from '../changes/index.ts'
import { sourceIdOf } from '../databases/index.ts'
import { write, type Verb } from '../verb.ts'
import { isLoad, requireLoad } from './load-rows.ts'

/** What it staged is deleted by the next step. Its last moment cannot be canceled: the table may be in its place already. */
export const cancelLoad: Verb<'cancelLoad'> = write(
  { audit: 'load.canceled' },
  async ({ tx, clock, orgId, audit }, { load_id }) => {
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
    await notify(tx, 'loads')
    await notifyChange(tx, 'loads', { orgId })
    await audit('load.canceled', `${load.filename || load.id} in ${sourceIdOf(source.name)}`)
    return {}
  },
)
