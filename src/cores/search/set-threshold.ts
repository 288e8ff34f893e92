import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { evals } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { THRESHOLD_QUESTIONS_MIN } from '../../contracts/limits.ts'
import { sourceIdOf } from '../databases/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockSource, updateSource } from './change-source.ts'
import { isEvalOf } from './eval-rows.ts'
import { learnThreshold, presentThresholds, thresholdEntriesOf } from './threshold.ts'

export const setThreshold: Verb<'setThreshold'> = write(
  { audit: ['data_source.threshold_set', 'data_source.threshold_removed'] },
  async ({ tx, orgId, audit }, { source_id, eval_id }) => {
    const source = await lockSource(tx, orgId, source_id)
    if (eval_id === null) {
      if (source.threshold === null) return { thresholds: [] }
      await audit('data_source.threshold_removed', sourceIdOf(source.name))
      return { thresholds: presentThresholds(await updateSource(tx, source, { threshold: null })) }
    }
    const [finished] = await tx
      .select()
      .from(evals)
      .where(and(isEvalOf(source), eq(evals.id, eval_id), isNotNull(evals.finishedAt)))
    if (!finished) throw notFound()
    if (finished.configuredAt?.getTime() !== source.configuredAt?.getTime()) {
      throw new ServiceError('CONFLICT', 'The search configuration was changed since this eval', {
        hint: 'Make another eval, and set the threshold from that.',
      })
    }
    if (thresholdEntriesOf(source).length === 0) {
      throw new ServiceError('CONFLICT', 'A threshold needs a table with vectors', {
        hint: 'Scores of a table that is searched by words alone depend on the length of the question.',
      })
    }
    const threshold = learnThreshold(source, finished.id, finished.scores)
    if (!threshold) {
      throw new ServiceError(
        'CONFLICT',
        `A threshold needs at least ${THRESHOLD_QUESTIONS_MIN} questions whose answer was found`,
        { hint: 'Those from tables that are searched by words alone do not count.' },
      )
    }
    await audit('data_source.threshold_set', sourceIdOf(source.name))
    return { thresholds: presentThresholds(await updateSource(tx, source, { threshold })) }
  },
)
