/** Models that texts may be embedded with in bulk: the built-in one, and those of a provider that the operator opened. */
import { ServiceError } from '../../contracts/errors.ts'
import type { EmbeddingModels } from '../search/index.ts'

/** Its dimensions. One that is closed is told like one that does not exist, except that the hint names those that are open. */
export function requireBulkModel(models: EmbeddingModels, model: string): number {
  const dimensions = models.dimensionsOf(model)
  if (dimensions !== undefined && models.takesBulk(model)) return dimensions
  throw new ServiceError('INVALID_REQUEST', 'This model cannot be used here', {
    problems: ['model: no such model, or it is not open to texts in bulk'],
    hint: `Use one of these: ${models.names.filter((name) => models.takesBulk(name)).join(', ')}.`,
  })
}
