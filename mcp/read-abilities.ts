/** Reads what a client can do from its message. Clients of 2026 say so with every one, others never. */
import { CLIENT_CAPABILITIES_META_KEY, inputResponse, type ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { LINK, TASKS_EXTENSION, type ClientAbilities } from './client-abilities.ts'

const Capabilities = z.object({
  elicitation: z.object({ url: z.looseObject({}).optional() }).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})

export function readAbilities({
  envelope,
  inputResponses,
}: Pick<ServerContext['mcpReq'], 'envelope' | 'inputResponses'>): ClientAbilities {
  const claims: Readonly<Record<string, unknown>> = envelope ?? {}
  const { data } = Capabilities.safeParse(claims[CLIENT_CAPABILITIES_META_KEY])
  const answered = inputResponse(inputResponses, LINK)
  return {
    hasTasks: data?.extensions?.[TASKS_EXTENSION] !== undefined,
    opensLinks: data?.elicitation?.url !== undefined,
    link: answered.kind === 'elicit' ? answered.action : undefined,
  }
}
