import type { Handler } from '../../contracts/operations.ts'
import { sourceIdOf } from '../databases/index.ts'
import type { SearchDeps } from './search-entries.ts'
import { fetchRow } from './fetch-row.ts'

/** By the handle alone, which names its source. */
export const fetchSearchResult =
  (deps: SearchDeps): Handler<'fetchSearchResult'> =>
  async (principal, { id }) => {
    const { source, ...answer } = await fetchRow(deps, principal, id)
    return { source_id: sourceIdOf(source.name), target: String(answer.hit.metadata['_target']), ...answer }
  }
