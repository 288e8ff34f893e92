/** What can be read off a message before the protocol is spoken. */
import * as z from 'zod'

const ToolCall = z.object({
  method: z.literal('tools/call'),
  params: z.object({
    name: z.string(),
    arguments: z.unknown(),
    _meta: z.record(z.string(), z.unknown()).optional(),
  }),
})

export function readToolCall(message: unknown) {
  const params = ToolCall.safeParse(message).data?.params
  return params && { name: params.name, input: params.arguments, traceparent: traceparentIn(params._meta) }
}

/** W3C Trace Context, 3.2: version 00; ids of zeros are none. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Reserved for it by the protocol; one that is malformed is as good as none. */
export function traceparentIn(meta: Record<string, unknown> | undefined): string | undefined {
  const given = meta?.['traceparent']
  return typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined
}
