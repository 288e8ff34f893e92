/** The typed way to make an agent call, in this process or across the network. */
import type * as z from 'zod'
import {
  AGENT_CALL_PATH,
  AGENT_CALLS,
  type AgentCallName,
  type AgentCallOutput,
} from '../contracts/agent-calls.ts'
import { errorFrom } from './http-client.ts'
import { INTERNAL_ORIGIN, type Service } from './service.ts'

export type CallAgent = <Name extends AgentCallName>(
  name: Name,
  input: z.input<(typeof AGENT_CALLS)[Name]['input']>,
  options: { readonly token: string; readonly signal?: AbortSignal | undefined },
) => Promise<AgentCallOutput<Name>>

export const agentClient =
  (service: Service): CallAgent =>
  async (name, input, options) => {
    const body = await postJson(service, `${AGENT_CALL_PATH}/${name}`, input, options)
    return AGENT_CALLS[name].output.parse(body) as AgentCallOutput<typeof name>
  }

export async function postJson(
  service: Service,
  path: string,
  input: unknown,
  { token, signal }: { readonly token: string; readonly signal?: AbortSignal | undefined },
): Promise<unknown> {
  const response = await service(
    new Request(new URL(path, INTERNAL_ORIGIN), {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(input),
      signal: signal ?? null,
    }),
  )
  const body: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw errorFrom(response, body)
  return body
}
