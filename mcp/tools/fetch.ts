/** The tool `fetch`, by the contract that ChatGPT's connectors read: the whole row behind an id that was found. */
import * as z from 'zod'
import { fetchFound } from '../../src/contracts/data-sources.ts'
import { notFound } from '../../src/contracts/errors.ts'
import { beginning, fits, fitText } from '../fit.ts'
import { sourceUrl } from '../source-url.ts'
import { tool } from '../tool.ts'
import { rowText, TITLE_CHARACTERS } from './row-text.ts'

const text = { type: 'string' } as const

export const fetchOne = tool({
  name: 'fetch',
  resource: 'platform',
  title: 'Fetch a search result',
  description: 'Return the full row behind an id from search, or a _handle from datasource_query.',
  operations: [fetchFound],
  input: z.strictObject({ id: fetchFound.input.shape.id.describe('An id exactly as returned.') }),
  output: {
    type: 'object',
    properties: { id: text, title: text, text, url: text, metadata: { type: 'object' } },
    required: ['id', 'title', 'text', 'url'],
  },
  isUntrusted: true,
  unknown: 'Nothing is found under this id. Search again.',
  async run({ id }, { call, narrowing, appUrl }) {
    const { source_id: source, target, hit, truncated } = await call(fetchFound, { id })
    // Only now is it known where the id leads. The row was read and is written down; it is not told.
    if (narrowing.sources && !narrowing.sources.has(source)) throw notFound()
    const heading = hit.title || hit.id
    const title = beginning(heading, TITLE_CHARACTERS)
    // Nothing is lost where the second column is a text rather than a title, or the only one.
    const whole = [title === heading ? '' : heading, rowText(hit)].filter(Boolean).join('\n') || heading
    const show = (shown: string, ...cuts: (string | undefined)[]) => {
      const said = cuts.filter((one) => one !== undefined)
      return {
        id,
        title,
        text: shown,
        url: sourceUrl(appUrl, source),
        metadata: { source, target, ...(said.length > 0 && { truncated: said.join(' ') }) },
      }
    }
    const answer = show(whole, truncated)
    // The core cut the row, but its text is written differently here and stands beside the id and the address.
    return fits(answer) ? answer : fitText(whole, (some) => show(some, truncated, 'The text was shortened.'))
  },
})
