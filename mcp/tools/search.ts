/** The tool `search`, in the form that ChatGPT's connectors expect: one question to all sources, ids for `fetch`. */
import * as z from 'zod'
import { listAskableDataSources, searchDataSources, type Hit } from '../../src/contracts/data-sources.ts'
import { PAGE_MAX } from '../../src/contracts/limits.ts'
import { extractAround, markWords } from '../../src/contracts/matched-words.ts'
import { unavailableText } from '../../src/contracts/unavailable-sources.ts'
import { truncate, fitHits } from '../answer-size.ts'
import { tool, type ToolContext } from '../tool.ts'
import { hitText, hitUrl, TITLE_CHARACTERS } from './hit.ts'

/** Enough to choose from; `fetch` returns the rest. */
const SNIPPET_CHARACTERS = 300

const text = { type: 'string' } as const

export const search = tool({
  name: 'search',
  resource: 'platform',
  title: 'Search data sources',
  description:
    'Semantic search across every data source you can query. Returns ids for fetch. ' +
    'Use datasource_query for one source or filters.',
  operations: [searchDataSources, listAskableDataSources],
  input: z.strictObject({
    query: searchDataSources.input.shape.query.describe('The question in plain words.'),
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
  card: 'answer',
  notFoundText: 'No such data source. Call datasource_list.',
  async run({ query }, context) {
    const sources = await sourcesOf(context)
    const found = await context.call(searchDataSources, { query, ...(sources && { sources }) })
    const results = found.results.map((hit) => {
      const source = String(hit.metadata['_source'])
      const snippet = snippetOf(hit)
      return {
        id: hit.id,
        title: truncate(hit.title || source, TITLE_CHARACTERS),
        url: hitUrl(context.appUrl, source, hit),
        source,
        ...(snippet === '' ? {} : { text: snippet }),
        ...(hit.passages && { more: hit.passages.map(({ heading, url }) => ({ heading, url })) }),
      }
    })
    return fitHits(results, (some, leftOut) => ({
      results: some,
      ...(found.weak && { weak: true }),
      ...(found.unavailable ? { unavailable: unavailableText(found.unavailable) } : {}),
      ...cut(found.truncated, leftOut),
    }))
  },
})

/** Of a passage the part with words of the question, which are marked. */
function snippetOf(hit: Hit): string {
  const { heading, passage } = hit.metadata
  if (typeof heading !== 'string' || typeof passage !== 'string') {
    return truncate(hitText(hit), SNIPPET_CHARACTERS)
  }
  const words = hit.matched ?? []
  const parts = markWords(extractAround(passage, words, SNIPPET_CHARACTERS), words)
  const marked = parts.map(({ text: part, isMatch }) => (isMatch ? `**${part}**` : part)).join('')
  return `${truncate(heading, TITLE_CHARACTERS)}\n${marked}`
}

const cut = (truncated: string | undefined, leftOut: number) => {
  const all = [truncated, leftOut > 0 ? `Results left out: ${leftOut}.` : undefined].filter(Boolean)
  return all.length === 0 ? {} : { truncated: all.join(' ') }
}

/**
 * The sources named in the URL that may be queried. If none may be, all of them are passed on, and the core answers and
 * records it as for any source that does not exist.
 */
async function sourcesOf({ call, narrowing }: ToolContext): Promise<string[] | undefined> {
  const named = narrowing.sources && [...narrowing.sources]
  if (!named || named.length === 1) return named
  const { data_sources } = await call(listAskableDataSources, { limit: PAGE_MAX })
  const askable = named.filter((name) => data_sources.some(({ id }) => id === name))
  return askable.length === 0 ? named : askable
}
