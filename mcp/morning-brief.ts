/** The prompt `morning_brief`: what a person picks from a menu to hear what needs them today. */
import type { McpServer } from '@modelcontextprotocol/server'

const TEXT = [
  'Brief me on what happened since I last looked.',
  '',
  'Call notifications_list and read every page of what is unread. Group what belongs together by app; what failed and has not recovered comes first, then what waits for a decision, then the rest in one line each, with urls.',
  'Say so if there is nothing. Mark nothing read before I have answered; then ask whether to clear what I have seen.',
].join('\n')

export function offerMorningBrief(server: McpServer): void {
  server.registerPrompt(
    'morning_brief',
    { title: 'Morning brief', description: 'What happened, and what needs attention first.' },
    () => ({ messages: [{ role: 'user', content: { type: 'text', text: TEXT } }] }),
  )
}
