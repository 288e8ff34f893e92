import type { Handler } from '../../contracts/operations.ts'
import type { SearchDeps } from './search-entries.ts'
import { fetchRow } from './fetch-row.ts'

export const fetchDataSourceRow =
  (deps: SearchDeps): Handler<'fetchDataSourceRow'> =>
  async (principal, { source_id, handle }) => {
    const { hit, truncated } = await fetchRow(deps, principal, handle, source_id)
    return truncated === undefined ? { hit } : { hit, truncated }
  }
