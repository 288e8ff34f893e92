/** Reads what a client can do from its message. Clients of 2026 say so with every one, others never. */
import { CLIENT_CAPABILITIES_META_KEY, inputResponse, type ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { CARD_TYPE, CARDS_EXTENSION } from './chat-card.ts'
import { LINK, TASKS_EXTENSION, type ClientAbilities } from './client-abilities.ts'

const Capabilities = z.object({
  elicitation: z.object({ url: z.looseObject({}).optional() }).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})
/** SEP-1865: `mimeTypes` is required. */
const Cards = z.object({ mimeTypes: z.array(z.string()) })

export function readAbilities({
  envelope,
  inputResponses,
}: Pick<ServerContext['mcpReq'], 'envelope' | 'inputResponses'>): ClientAbilities {
  const claims: Readonly<Record<string, unknown>> = envelope ?? {}
  const { data } = Capabilities.safeParse(claims[CLIENT_CAPABILITIES_META_KEY])
  const answered = inputResponse(inputResponses, LINK)
  return {
    hasTasks: data?.extensions?.[TASKS_EXTENSION] !== undefined,
    drawsCards:
      Cards.safeParse(data?.extensions?.[CARDS_EXTENSION]).data?.mimeTypes.includes(CARD_TYPE) ?? false,
    opensLinks: data?.elicitation?.url !== undefined,
    link: answered.kind === 'elicit' ? answered.action : undefined,
  }
}
