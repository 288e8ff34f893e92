/**
 * How the agent-runner and those that it works for know each other: a JWT of a minute, signed with AGENT_RUNNER_SECRET, in
 * each direction for the other side alone. It opens no run: each of those has an identity of its own.
 */
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { hs256 } from './hs256.ts'

/** `tool-host`: the deploy-api. `agent-runner`: asked for an answer of a model. */
export type AgentRunnerAudience = 'tool-host' | 'agent-runner'

const SECONDS = 60

export type AgentRunnerTokens = ReturnType<typeof agentRunnerTokens>

export function agentRunnerTokens(secretHex: string) {
  const key = new Uint8Array(Buffer.from(secretHex, 'hex'))
  const jwtFor = (audience: AgentRunnerAudience) =>
    hs256(key, { typ: CREDENTIAL_KINDS.agent_runner_token.type, issuer: 'svc', audience })
  const kinds = { 'tool-host': jwtFor('tool-host'), 'agent-runner': jwtFor('agent-runner') }
  return {
    sign: (audience: AgentRunnerAudience, now: Date): Promise<string> =>
      kinds[audience].sign({ sub: 'svc' }, now, new Date(now.getTime() + SECONDS * 1000)),
    isValid: async (audience: AgentRunnerAudience, token: string, now: Date): Promise<boolean> =>
      (await kinds[audience].verify(token, now)) !== undefined,
  }
}
