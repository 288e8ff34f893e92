/** The table of chat cards, without what draws them: a tool names its card. */
import type { Resource } from '../src/contracts/scopes.ts'

/** MCP Apps, 2026-01-26. */
export const CARDS_EXTENSION = 'io.modelcontextprotocol/ui'
export const CARD_TYPE = 'text/html;profile=mcp-app'

export const CHAT_CARDS = {
  proposal: {
    resource: 'platform',
    title: 'Proposal',
    description: 'A proposal with its diff and evidence, and a link to where people decide.',
  },
  answer: {
    resource: 'platform',
    title: 'Answer',
    description: 'What was found, as a table with citations.',
  },
  inbox: {
    resource: 'notifications',
    title: 'Inbox',
    description: 'Notifications, with links to what they are about.',
  },
} as const satisfies Record<string, { resource: Resource; title: string; description: string }>
export type ChatCard = keyof typeof CHAT_CARDS

export const cardUri = (card: ChatCard): string => `ui://svc/${card}`
