/** What a language model is asked and what it answers, whoever the provider is. */

export type ModelTool = {
  readonly name: string
  readonly description: string
  /** JSON Schema of its arguments: an object. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export type ToolCall = {
  readonly id: string
  readonly name: string
  /** As the model wrote them: they may not be JSON. */
  readonly arguments: string
}

export type ToolResult = { readonly callId: string; readonly text: string; readonly isError: boolean }

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      /** What the same provider wants back unchanged: thinking with its signature, encrypted reasoning. */
      readonly echo: readonly unknown[]
    }
  | { readonly role: 'tools'; readonly results: readonly ToolResult[] }

export type ModelRequest = {
  readonly system: string
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ModelTool[]
  readonly maxOutputTokens: number
}

/** `length`: cut off, and no conclusion. `other`: refused, filtered, or a word that we do not know. */
export type Ending = 'stop' | 'tool_calls' | 'length' | 'other'

export type ModelTurn = {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly echo: readonly unknown[]
  readonly ending: Ending
  /** Input and output together, cached input included; null when the provider does not say. */
  readonly tokens: number | null
}

export const MODEL_WIRES = ['anthropic', 'openai-responses', 'openai-chat'] as const
export type ModelWire = (typeof MODEL_WIRES)[number]

/**
 * Why there is no turn. `isSent`: the provider may have worked on it, and its tokens count. `runner_failed`: the agent-runner
 * could not be asked or gave no answer; it never says so itself.
 */
export type ModelFailureReason =
  | 'refused'
  | 'rate_limited'
  | 'unavailable'
  | 'timeout'
  | 'invalid_answer'
  | 'runner_failed'

/**
 * `outage`: a 5xx of the provider, or no connection to it. `timeout`: no answer in time, which may be for what it was asked.
 * `refused`: anything else without a turn, which says nothing of the provider.
 */
export const MODEL_OUTCOMES = ['answered', 'outage', 'timeout', 'refused'] as const
export type ModelOutcome = (typeof MODEL_OUTCOMES)[number]

export const outcomeOfAnswer = (answer: ModelAnswer): ModelOutcome => {
  if (answer.kind === 'turn') return 'answered'
  if (answer.reason === 'unavailable') return 'outage'
  return answer.reason === 'timeout' ? 'timeout' : 'refused'
}

/** Whether it is booked as an outage. */
export const isOutage = (outcome: ModelOutcome | undefined): boolean =>
  outcome === 'outage' || outcome === 'timeout'

/** As it can be handed on between processes. */
export type ModelAnswer =
  | { readonly kind: 'turn'; readonly turn: ModelTurn }
  | {
      readonly kind: 'failed'
      readonly reason: ModelFailureReason
      readonly isSent: boolean
      /** When the provider wants to be asked again. */
      readonly retryAfterSeconds?: number | undefined
    }
