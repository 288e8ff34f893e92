/** The tool `search`, by the contract that ChatGPT's connectors read: one question to all sources, ids for `fetch`. */
import * as z from 'zod'
import { listAskableSources, searchEverywhere } from '../../src/contracts/data-sources.ts'
import { PAGE_MAX } from '../../src/contracts/limits.ts'
import { beginning, fitHits } from '../fit.ts'
import { sourceUrl } from '../source-url.ts'
import { tool, type Workplace } from '../tool.ts'
import { rowText, TITLE_CHARACTERS } from './row-text.ts'

/** Enough to choose by; `fetch` has the rest. */
const SNIPPET_CHARACTERS = 300

const text = { type: 'string' } as const

export const search = tool({
  name: 'search',
  resource: 'platform',
  title: 'Search data sources',
  description:
    'Search every data source you may ask, by meaning. Returns ids to pass to fetch. ' +
    'Use datasource_query when you know the source or need filters.',
  operations: [searchEverywhere, listAskableSources],
  input: z.strictObject({
    query: searchEverywhere.input.shape.query.describe('The question, in plain words.'),
  }),
  output: {
    type: 'object',
    properties: {
      results: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: text, title: text, url: text },
          required: ['id', 'title', 'url'],
        },
      },
    },
    required: ['results'],
  },
  isUntrusted: true,
  unknown: 'No such data source. Call datasource_list.',
  async run({ query }, at) {
    const sources = await sourcesOf(at)
    const found = await at.call(searchEverywhere, { query, ...(sources && { sources }) })
    const results = found.results.map((hit) => {
      const source = String(hit.metadata['_source'])
      const snippet = beginning(rowText(hit), SNIPPET_CHARACTERS)
      return {
        id: hit.id,
        title: beginning(hit.title || source, TITLE_CHARACTERS),
        url: sourceUrl(at.appUrl, source),
        source,
        ...(snippet === '' ? {} : { text: snippet }),
      }
    })
    return fitHits(results, (some, leftOut) => ({
      results: some,
      ...(found.unavailable ? { unavailable: found.unavailable } : {}),
      ...cut(found.truncated, leftOut),
    }))
  },
})

const cut = (truncated: string | undefined, leftOut: number) => {
  const all = [truncated, leftOut > 0 ? `${leftOut} last results left out.` : undefined].filter(Boolean)
  return all.length === 0 ? {} : { truncated: all.join(' ') }
}

/**
 * Those of the address that may be asked. If that is none of them all are named, and the core answers, and writes down,
 * what it does for any source that is not there.
 */
async function sourcesOf({ call, narrowing }: Workplace): Promise<string[] | undefined> {
  const named = narrowing.sources && [...narrowing.sources]
  if (!named || named.length === 1) return named
  const { data_sources } = await call(listAskableSources, { limit: PAGE_MAX })
  const askable = named.filter((name) => data_sources.some(({ id }) => id === name))
  return askable.length === 0 ? named : askable
}
