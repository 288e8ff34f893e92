/** The tool `datasource_query`: one question to one data source, with filters. */
import * as z from 'zod'
import { queryDataSource, type Hit } from '../../src/contracts/data-sources.ts'
import { notFound } from '../../src/contracts/errors.ts'
import { tool, hidePattern } from '../tool.ts'

const { source_id, query, filters, top_k, target } = queryDataSource.input.shape

export const datasourceQuery = tool({
  name: 'datasource_query',
  resource: 'platform',
  title: 'Query a data source',
  description:
    'Semantic search in one data source. Filters must all match; ' +
    'an array matches any of its values, a range compares numbers, dates (2026-03-01) and texts.',
  operations: [queryDataSource],
  input: z.strictObject({
    source_id: hidePattern(source_id).describe('From datasource_list, like db_orders.'),
    query,
    // Written out as a schema it would cost a model more than these words do.
    filters: z
      .record(z.string(), z.unknown())
      .default({})
      .superRefine((given, context) => {
        for (const { message, path } of filters.safeParse(given).error?.issues ?? []) {
          context.addIssue({ code: 'custom', message, path })
        }
      })
      .describe('Filterable column to value, array or range like {"gte": 10, "lt": 20}.'),
    top_k,
    target: target.describe('Label of one search target.'),
  }),
  isUntrusted: true,
  card: 'answer',
  notFoundText: 'No such data source. Call datasource_list.',
  async run(question, { call, narrowing: { sources } }) {
    // A source that the URL leaves out answers exactly like one that does not exist.
    if (sources && !sources.has(question.source_id)) throw notFound()
    // The core has limited the size of this answer; it only gets smaller here.
    const answer = await call(queryDataSource, { ...question, filters: filters.parse(question.filters) })
    return { ...answer, results: answer.results.map(withRoundedScore) }
  },
})

/** Four digits tell hits apart; a model would pay for all sixteen. */
const withRoundedScore = (hit: Hit): Hit => {
  const { _score } = hit.metadata
  if (typeof _score !== 'number') return hit
  return { ...hit, metadata: { ...hit.metadata, _score: Math.round(_score * 10_000) / 10_000 } }
}
