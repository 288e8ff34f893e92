/** The prompts. Each is listed with the tool it needs. */
import type { McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { QUESTION_MAX_CHARACTERS } from '../src/contracts/limits.ts'

export const PROMPTS: readonly { name: string; tool: string; register: (server: McpServer) => void }[] = [
  { name: 'ask_data', tool: 'search', register: registerAskData },
  { name: 'morning_brief', tool: 'notifications_list', register: registerMorningBrief },
]

const ARGUMENTS = z.object({
  question: z.string().max(QUESTION_MAX_CHARACTERS).describe('What you want to know.'),
  source: z.string().max(60).optional().describe('Ask only this data source, for example db_orders.'),
})

/** A question about company data, worded so that the answer cites its sources. */
function registerAskData(server: McpServer): void {
  server.registerPrompt(
    'ask_data',
    {
      title: 'Ask company data',
      description: 'Answer a question from your data sources.',
      argsSchema: ARGUMENTS,
    },
    ({ question, source }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: promptText(question, source) } }],
    }),
  )
}

const promptText = (question: string, source: string | undefined): string =>
  [
    question,
    '',
    source === undefined
      ? 'Answer from company data: search, then fetch the best results.'
      : `Answer from the data source ${source} with datasource_query.`,
    'Cite the rows the answer is based on, with their urls or ids. If they do not answer the question, say so.',
  ].join('\n')

const MORNING_BRIEF = [
  'Brief me on what happened since I last checked.',
  '',
  'Call notifications_list and read every page of unread notifications. Group them by app. Start with failures that have not recovered, then anything waiting for a decision, then the rest in one line each, with urls.',
  'If there is nothing, say so. Do not mark anything read yet; ask me first whether to clear what I have seen.',
].join('\n')

/** What happened, and what needs the user today. */
function registerMorningBrief(server: McpServer): void {
  server.registerPrompt(
    'morning_brief',
    { title: 'Morning brief', description: 'What happened and what needs your attention first.' },
    () => ({ messages: [{ role: 'user', content: { type: 'text', text: MORNING_BRIEF } }] }),
  )
}
