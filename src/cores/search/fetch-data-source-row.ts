import { read, type Verb } from '../verb.ts'
import type { SearchDeps } from './search-entries.ts'
import { fetchRow } from './fetch-row.ts'

export const fetchDataSourceRow: Verb<'fetchDataSourceRow', SearchDeps> = read(
  'principal',
  async (context, { source_id: sourceId, handle, document }) => {
    const { principal } = context
    const { hit, truncated } = await fetchRow(context, principal, { sourceId, handle, document })
    return truncated === undefined ? { hit } : { hit, truncated }
  },
)
