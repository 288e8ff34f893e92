import { sourceIdOf } from '../databases/index.ts'
import { read, type Verb } from '../verb.ts'
import type { SearchDeps } from './search-entries.ts'
import { fetchRow } from './fetch-row.ts'

/** By the handle alone, which names its source. */
export const fetchSearchResult: Verb<'fetchSearchResult', SearchDeps> = read(
  'principal',
  async (context, { id, document }) => {
    const { principal } = context
    const { source, ...answer } = await fetchRow(context, principal, { handle: id, document })
    return { source_id: sourceIdOf(source.name), target: String(answer.hit.metadata['_target']), ...answer }
  },
)
