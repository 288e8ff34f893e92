/** The prompt `ask_data`: a question that a person picks from a menu, put so that the answer names its sources. */
import type { McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { QUESTION_MAX_CHARACTERS } from '../src/contracts/limits.ts'

const ARGUMENTS = z.object({
  question: z.string().max(QUESTION_MAX_CHARACTERS).describe('What you want to know.'),
  source: z.string().max(60).optional().describe('Only this data source, like db_orders.'),
})

export function offerAskData(server: McpServer): void {
  server.registerPrompt(
    'ask_data',
    { title: 'Ask company data', description: 'Answer from the data sources.', argsSchema: ARGUMENTS },
    ({ question, source }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: wording(question, source) } }],
    }),
  )
}

const wording = (question: string, source: string | undefined): string =>
  [
    question,
    '',
    source === undefined
      ? 'Answer from company data: search, then fetch what looks right.'
      : `Answer from the data source ${source} with datasource_query.`,
    'Say which rows the answer rests on, with their urls or ids, and say so if they do not answer it.',
  ].join('\n')
