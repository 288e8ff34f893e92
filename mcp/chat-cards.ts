/**
 * Chat cards (MCP Apps): what a chat draws from the answer of a tool, instead of its text. They are the same for everybody and
 * hold no data; the answer comes from the chat. They load nothing and decide nothing: a button opens a page.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { McpServer } from '@modelcontextprotocol/server'
import type { Resource } from '../src/contracts/scopes.ts'
import { CARD_TYPE, cardUri, CHAT_CARDS, type ChatCard } from './chat-card.ts'
import { once } from './once.ts'
import type { RequestContext } from './request-context.ts'

/** They change only with a release. */
const CACHED = { ttlMs: 5 * 60_000, cacheScope: 'public' } as const

/** No origin at all: a host builds the policy of its frame from these lists. */
const NO_DOMAINS = { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] }
const CARD_META = { ui: { csp: NO_DOMAINS, prefersBorder: true } }

export function registerChatCards(
  server: McpServer,
  { resource, appUrl }: Pick<RequestContext, 'resource' | 'appUrl'>,
): void {
  for (const card of cardsOf(resource)) {
    const uri = cardUri(card)
    const { title, description } = CHAT_CARDS[card]
    server.registerResource(
      `${card}-card`,
      uri,
      { title, description, mimeType: CARD_TYPE, _meta: CARD_META, cacheHint: CACHED },
      () => ({
        contents: [{ uri, mimeType: CARD_TYPE, text: cardHtml(card, appUrl), _meta: CARD_META }],
      }),
    )
  }
}

const cardsOf = (resource: Resource): ChatCard[] =>
  (Object.keys(CHAT_CARDS) as ChatCard[]).filter((card) => CHAT_CARDS[card].resource === resource)

const read = (name: string): string =>
  readFileSync(new URL(`./chat-cards/${name}`, import.meta.url), 'utf8').replaceAll('\r\n', '\n')
const digestOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Read once, and only by a server that is asked for a card. */
const cardParts = once(() => {
  const [script, style] = [read('card.js'), read('card.css')]
  // By digest: whatever else should get into the document does not run, however lax the host is.
  const policy = [
    "default-src 'none'",
    `script-src ${digestOf(script)}`,
    `style-src ${digestOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return { script, style, policy }
})

/** The address of the console is from the configuration; nothing else in it differs between installations. */
function cardHtml(card: ChatCard, appUrl: URL): string {
  const { script, style, policy } = cardParts()
  return `<!doctype html>
<html lang="en" data-card="${card}" data-app="${appUrl.origin}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${CHAT_CARDS[card].title}</title>
<style>${style}</style>
</head>
<body>
<main><p class="note">Waiting for the answer.</p></main>
<p role="status" class="note"></p>
<script>${script}</script>
</body>
</html>
`
}
