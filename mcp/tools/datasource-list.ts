/** The tool `datasource_list`: the data sources that can be queried, and their filters. */
import * as z from 'zod'
import { listAskableDataSources } from '../../src/contracts/data-sources.ts'
import { PAGE_DEFAULT, PAGE_MAX } from '../../src/contracts/limits.ts'
import { fitPage } from '../answer-size.ts'
import { tool } from '../tool.ts'

export const datasourceList = tool({
  name: 'datasource_list',
  resource: 'platform',
  title: 'List data sources',
  description:
    'List the data sources you can query, with filterable columns and search targets. ' +
    'Call it before filtering.',
  operations: [listAskableDataSources],
  input: z.strictObject({ cursor: z.string().max(1_000).optional() }),
  run({ cursor }, { call, narrowing: { sources } }) {
    return fitPage(
      // At most 100 are exposed: a narrowed list is read in one page, so that no page is empty.
      sources ? PAGE_MAX : PAGE_DEFAULT,
      async (limit) => {
        const { data_sources, next_cursor } = await call(listAskableDataSources, { limit, cursor })
        return { rows: data_sources, next_cursor }
      },
      (rows) => ({ data_sources: rows.filter(({ id }) => sources?.has(id) ?? true) }),
    )
  },
})
