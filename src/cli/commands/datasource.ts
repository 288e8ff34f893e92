/** `svc datasource …`: what may be asked, and asking it. */
import { HITS_MAX } from '../../contracts/limits.ts'
import { readInput } from '../ask-person.ts'
import type { Run } from '../command.ts'
import { argument, countOption, listOption, textOption } from '../options.ts'
import { readPages } from '../read-pages.ts'
import { usage } from '../usage.ts'

export const listDataSources: Run = async (world, call) => {
  const search = textOption(call, 'search')
  const found = await readPages(world, call, 'data_sources', (page) =>
    world.ask('dataSources.listAskable', { ...page, search }),
  )
  world.print(found, {
    columns: ['ID', 'NAME', 'MIN ROLE', 'FILTERS', 'DESCRIPTION'],
    rows: found.data_sources.map(({ id, name, minimum_role, filters, description }) => [
      id,
      name,
      minimum_role,
      Object.entries(filters)
        .map(([column, type]) => `${column} (${type})`)
        .join(', '),
      description,
    ]),
  })
}

export const queryDataSource: Run = async (world, call) => {
  const question = argument(call, 'question')
  const answer = await world.ask('dataSources.query', {
    source_id: argument(call, 'source_id'),
    // Checked before stdin is waited for.
    filters: filtersFrom(listOption(call, 'filter')),
    top_k: countOption(call, 'top-k', HITS_MAX),
    target: textOption(call, 'target'),
    query: question === '-' ? await readInput(world, 'the question') : question,
  })
  world.print(
    answer,
    {
      columns: ['ID', 'TITLE', 'SCORE', 'TARGET'],
      rows: answer.results.map(({ id, title, metadata }) => [
        id,
        title,
        textOf(metadata['_score']),
        textOf(metadata['_target']),
      ]),
    },
    'yaml',
  )
  if (answer.truncated !== undefined && world.settings.format === 'table') {
    world.say('The answer was shortened to fit: ask more narrowly, or for fewer hits with --top-k')
  }
}

/** The same column twice means either value. The server knows the types: text that reads like one is taken as one. */
function filtersFrom(given: readonly string[]): Record<string, string | string[]> {
  const filters = new Map<string, string[]>()
  for (const filter of given) {
    const at = filter.indexOf('=')
    if (at < 1) throw usage(`--filter cannot be ${filter}`, 'Write it as --filter column=value')
    const column = filter.slice(0, at)
    filters.set(column, [...(filters.get(column) ?? []), filter.slice(at + 1)])
  }
  return Object.fromEntries(
    [...filters].map(([column, values]) => [column, values.length === 1 ? values[0]! : values]),
  )
}

const textOf = (value: unknown): string | number | undefined =>
  typeof value === 'number' || typeof value === 'string' ? value : undefined
