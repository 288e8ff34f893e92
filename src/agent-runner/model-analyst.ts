/**
 * The analyst with a language model: asks, does what it calls for, and asks again, until it concludes or reaches a bound.
 * Whatever the model says, only calls count, and only the tool host decides what they do.
 */
import {
  AGENT_LIMITS,
  TOOL_REFUSALS,
  type AgentToolName,
  type AgentTools,
  type Analyst,
  type AnalystEnding,
  type AnalystFailure,
  type ToolAnswer,
  type ToolRefusal,
} from '../contracts/agent-tools.ts'
import type { ModelMessage, ModelTurn, ToolCall, ToolResult } from '../contracts/model-port.ts'
import { readJsonObject } from '../contracts/read-json.ts'
import { askInBudget, type BudgetDeps } from './ask-in-budget.ts'
import { MODEL_TOOLS, openingOf, REMINDER, resultText, SYSTEM } from './prompt.ts'

export type ModelAnalystDeps = BudgetDeps & { readonly maxOutputTokens: number }

export const modelAnalyst =
  ({ maxOutputTokens, ...budget }: ModelAnalystDeps): Analyst =>
  async (run, tools, signal) => {
    const ask = askInBudget(budget)
    const doCalls = callDoer(tools)
    const messages: ModelMessage[] = [{ role: 'user', text: openingOf(run) }]
    for (;;) {
      signal.throwIfAborted()
      const asked = await ask({ system: SYSTEM, messages, tools: MODEL_TOOLS, maxOutputTokens }, signal)
      if (asked.kind === 'ended') return asked.ending
      const { turn } = asked
      const broken = brokenOff(turn)
      if (broken) return broken
      messages.push({ role: 'assistant', text: turn.text, calls: turn.calls, echo: turn.echo })
      const done = await doCalls(turn.calls)
      if (done.kind === 'ended') return done.ending
      messages.push(
        turn.calls.length === 0
          ? { role: 'user', text: REMINDER }
          : { role: 'tools', results: [...done.results] },
      )
    }
  }

const failed = (reason: AnalystFailure): AnalystEnding => ({ kind: 'failed', reason })

/** Cut off is no conclusion, and calls in it may be halves. */
function brokenOff({ ending }: ModelTurn): AnalystEnding | undefined {
  if (ending === 'length') return failed('NO_CONCLUSION')
  return ending === 'other' ? failed('MODEL_REFUSED') : undefined
}

type Done =
  | { readonly kind: 'ended'; readonly ending: AnalystEnding }
  | { readonly kind: 'going on'; readonly results: readonly ToolResult[] }

/** Counts over the whole run: calls, mistakes in a row, and whether there is something to show. */
function callDoer(tools: AgentTools): (calls: readonly ToolCall[]) => Promise<Done> {
  let [made, mistakes, hasFinding] = [0, 0, false]
  const ended = (ending: AnalystEnding): Done => ({ kind: 'ended', ending })

  return async (calls) => {
    if (calls.length === 0) {
      if (hasFinding) return ended({ kind: 'finished' })
      mistakes++
    }
    const results: ToolResult[] = []
    for (const call of calls) {
      if (made === AGENT_LIMITS.toolCalls) return ended(failed('STEP_LIMIT'))
      made++
      const answer = await doCall(tools, call)
      mistakes = isMistake(answer) ? mistakes + 1 : 0
      if (answer.kind === 'result') {
        if (call.name === 'finish' || call.name === 'propose_change') return ended({ kind: 'finished' })
        hasFinding ||= call.name === 'record_finding'
      }
      // Recorded as a finding all the same.
      if (answer.kind === 'refused') hasFinding ||= answer.code === 'PROPOSAL_LIMIT'
      results.push({
        callId: call.id,
        text: resultText(call.name, answer, AGENT_LIMITS.toolCalls - made),
        isError: answer.kind === 'refused',
      })
    }
    if (mistakes >= AGENT_LIMITS.mistakes)
      return ended(hasFinding ? { kind: 'finished' } : failed('NO_CONCLUSION'))
    return { kind: 'going on', results }
  }
}

/** Made again and again, they lead nowhere. */
const MISTAKES: ReadonlySet<ToolRefusal> = new Set(['UNKNOWN_TOOL', 'INVALID_ARGUMENTS', 'ERRORS_NOT_READ'])

const isMistake = (answer: ToolAnswer): boolean => answer.kind === 'refused' && MISTAKES.has(answer.code)

async function doCall(tools: AgentTools, { name, arguments: written }: ToolCall): Promise<ToolAnswer> {
  const input = readArguments(written)
  if (input === undefined) return refused('must be a JSON object, and not too long')
  // Whether there is such a tool, and whether it takes these, is for the tool host to say.
  return tools.call(name as AgentToolName, input)
}

function readArguments(written: string): object | undefined {
  if (Buffer.byteLength(written) > AGENT_LIMITS.argumentBytes) return undefined
  return readJsonObject(written.trim() === '' ? '{}' : written)
}

const refused = (problem: string): ToolAnswer => ({
  kind: 'refused',
  code: 'INVALID_ARGUMENTS',
  message: TOOL_REFUSALS.INVALID_ARGUMENTS,
  problems: [problem],
})
