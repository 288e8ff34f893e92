/** The tool `datasource_list`: what can be asked, and what its questions can be filtered by. */
import * as z from 'zod'
import { listAskableSources } from '../../src/contracts/data-sources.ts'
import { PAGE_DEFAULT, PAGE_MAX } from '../../src/contracts/limits.ts'
import { fitPage } from '../fit.ts'
import { tool } from '../tool.ts'

export const datasourceList = tool({
  name: 'datasource_list',
  resource: 'platform',
  title: 'List data sources',
  description:
    'List the data sources you may ask, with filterable columns and search targets. ' +
    'Call this before datasource_query with filters.',
  operations: [listAskableSources],
  input: z.strictObject({
    cursor: z.string().max(1_000).optional().describe('next_cursor of the page before.'),
  }),
  run({ cursor }, { call, narrowing: { sources } }) {
    return fitPage(
      // At most 100 are exposed: a narrowed list is read whole, so that none of its pages is empty.
      sources ? PAGE_MAX : PAGE_DEFAULT,
      async (limit) => {
        const { data_sources, next_cursor } = await call(listAskableSources, { limit, cursor })
        return { rows: data_sources, next_cursor }
      },
      (rows) => ({ data_sources: rows.filter(({ id }) => sources?.has(id) ?? true) }),
    )
  },
})
