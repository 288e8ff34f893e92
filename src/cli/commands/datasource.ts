/** `svc datasource …`: list and query data sources. */
import { HITS_MAX } from '../../contracts/limits.ts'
import { unavailableText } from '../../contracts/unavailable-sources.ts'
import type { Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, countOption, listOption, textOption } from '../options.ts'
import { readStdin } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

export const listAskableDataSources: Run = async (ctx, input) => {
  const search = textOption(input, 'search')
  const found = await readPages(ctx, input, 'listAskableDataSources', 'data_sources', { search })
  const view = tableOf(found.data_sources, {
    ID: 'id',
    NAME: 'name',
    'MIN ROLE': 'minimum_role',
    FILTERS: ({ filters }) =>
      Object.entries(filters)
        .map(([column, type]) => `${column} (${type})`)
        .join(', '),
    DESCRIPTION: 'description',
  })
  ctx.print(found, view)
}

export const queryDataSource: Run = async (ctx, input) => {
  const question = argument(input, 'question')
  const answer = await ctx.callOperation('queryDataSource', {
    source_id: argument(input, 'source_id'),
    // Checked before stdin is read.
    filters: filtersFrom(listOption(input, 'filter')),
    top_k: countOption(input, 'top-k', HITS_MAX),
    target: textOption(input, 'target'),
    query: question === '-' ? await readStdin(ctx, 'the question') : question,
  })
  const view = tableOf(answer.results, {
    ID: 'id',
    TITLE: 'title',
    SCORE: ({ metadata }) => textOf(metadata['_score']),
    TARGET: ({ metadata }) => textOf(metadata['_target']),
  })
  ctx.print(answer, view, 'yaml')
  if (answer.truncated !== undefined && ctx.settings.format === 'table') {
    ctx.info('The result was truncated: narrow the question, or request fewer hits with --top-k')
  }
}

export const searchDataSources: Run = async (ctx, input) => {
  const question = argument(input, 'question')
  const sources = listOption(input, 'source')
  const answer = await ctx.callOperation('searchDataSources', {
    ...(sources.length > 0 ? { sources: [...sources] } : {}),
    query: question === '-' ? await readStdin(ctx, 'the question') : question,
  })
  const view = tableOf(answer.results, {
    SOURCE: ({ metadata }) => textOf(metadata['_source']),
    TITLE: 'title',
    SCORE: ({ metadata }) => textOf(metadata['_score']),
    TARGET: ({ metadata }) => textOf(metadata['_target']),
  })
  ctx.print(answer, view, 'yaml')
  if (answer.unavailable) ctx.info(unavailableText(answer.unavailable))
}

/** Values of the same column are alternatives. They are sent as text; the server knows the types. */
function filtersFrom(given: readonly string[]): Record<string, string | string[]> {
  const filters = new Map<string, string[]>()
  for (const filter of given) {
    const at = filter.indexOf('=')
    if (at < 1) throw usageError(`Invalid value for --filter: ${filter}`, 'Use --filter column=value')
    const column = filter.slice(0, at)
    filters.set(column, [...(filters.get(column) ?? []), filter.slice(at + 1)])
  }
  return Object.fromEntries(
    [...filters].map(([column, values]) => [column, values.length === 1 ? values[0]! : values]),
  )
}

const textOf = (value: unknown): string | number | undefined =>
  typeof value === 'number' || typeof value === 'string' ? value : undefined
