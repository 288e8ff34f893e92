/** The tool `fetch`, in the form that ChatGPT's connectors expect: the full row of a search result. */
import * as z from 'zod'
import { fetchSearchResult } from '../../src/contracts/data-sources.ts'
import { notFound } from '../../src/contracts/errors.ts'
import { truncate, fits, fitText } from '../answer-size.ts'
import { tool } from '../tool.ts'
import { hitText, hitUrl, TITLE_CHARACTERS } from './hit.ts'

const text = { type: 'string' } as const

export const fetchHit = tool({
  name: 'fetch',
  resource: 'platform',
  title: 'Fetch a search result',
  description:
    'The full row for an id from search or a _handle from datasource_query; of a passage also its neighbors.',
  operations: [fetchSearchResult],
  input: z.strictObject({
    id: fetchSearchResult.input.shape.id.describe('An id exactly as returned.'),
    document: fetchSearchResult.input.shape.document.describe('Its whole document.'),
  }),
  output: {
    type: 'object',
    properties: { id: text, title: text, text, url: text, metadata: { type: 'object' } },
    required: ['id', 'title', 'text', 'url'],
  },
  isUntrusted: true,
  notFoundText: 'No such result. Search again.',
  async run({ id, document }, { call, narrowing, appUrl }) {
    const { source_id: source, target, hit, truncated } = await call(fetchSearchResult, { id, document })
    // The source of an id is known only now. The row was read, and recorded as activity, but is not shown.
    if (narrowing.sources && !narrowing.sources.has(source)) throw notFound()
    const heading = hit.title || hit.id
    const title = truncate(heading, TITLE_CHARACTERS)
    // Nothing is lost where the second column is a long text, or the only column.
    const whole = [title === heading ? '' : heading, hitText(hit)].filter(Boolean).join('\n') || heading
    const show = (shown: string, ...cuts: (string | undefined)[]) => {
      const notes = cuts.filter((cut) => cut !== undefined)
      return {
        id,
        title,
        text: shown,
        url: hitUrl(appUrl, source, hit),
        metadata: {
          source,
          target,
          digest: hit.digest,
          as_of: hit.as_of,
          ...(notes.length > 0 && { truncated: notes.join(' ') }),
        },
      }
    }
    const answer = show(whole, truncated)
    // The core has limited the row, but here its text is formatted differently and has the id and URL beside it.
    return fits(answer) ? answer : fitText(whole, (part) => show(part, truncated, 'The text was shortened.'))
  },
})
