/** Every tool call: checks scopes and input, runs the tool, limits the size of its answer and records activity. */
import { ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server'
import type * as z from 'zod'
import type { Call } from '../src/client/http-client.ts'
import { reportToolCall } from '../src/contracts/activity.ts'
import { ERRORS, ServiceError, type ErrorCode } from '../src/contracts/errors.ts'
import { missingScopes } from '../src/contracts/mcp-tools.ts'
import { MISSING } from '../src/contracts/problems.ts'
import type { Scope } from '../src/contracts/scopes.ts'
import { sha256 } from '../src/trust/keyed-hash.ts'
import { textFits } from './answer-size.ts'
import type { McpPrincipal } from './authenticate.ts'
import { CardAnswer } from './card-answer.ts'
import type { ClientAbilities } from './client-abilities.ts'
import { errorText } from './error-text.ts'
import { ProtocolAnswer } from './protocol-answer.ts'
import { readArguments } from './read-arguments.ts'
import type { RequestContext } from './request-context.ts'
import type { Tool } from './tool.ts'
import { TOOLS } from './tools.ts'

export type ToolCall = {
  readonly name: string
  readonly input: unknown
  /** W3C trace context that came with the message. */
  readonly traceparent: string | undefined
}

/** Rows, and what people wrote into them, are for a client to keep apart from what the user said. */
const UNTRUSTED = { 'svc/untrusted': true }

export async function callTool(
  context: RequestContext,
  toolCall: ToolCall,
  { signal, client }: { signal: AbortSignal; client: ClientAbilities },
): Promise<CallToolResult> {
  const startedAt = performance.now()
  const { choice, principal, narrowing, appUrl } = context
  const tool = choice.callable.find(({ name }) => name === toolCall.name)
  if (!tool) {
    report(context, toolCall, startedAt, { code: 'NOT_FOUND' })
    // The same text for hidden and unknown tools. It does not repeat the requested name, which a model would read.
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'No such tool. Call tools/list to see your tools.',
    )
  }
  let isRecorded = false
  const gateway = context.call({ traceparent: toolCall.traceparent, signal })
  const call: Call = (operation, input) => {
    isRecorded ||= operation.recordsActivity === true
    return gateway(operation, input)
  }
  let outcome: Outcome
  try {
    requireScopes(tool, context)
    const input = parseInput(tool, toolCall.input)
    const answer = await context.inTurn(() =>
      tool.run(input, { call, principal, narrowing, hidden: choice.hidden, appUrl, client }),
    )
    outcome = succeeded(tool, answer)
  } catch (error) {
    outcome = failed(context, tool, error, signal)
  }
  if (!isRecorded) report(context, toolCall, startedAt, outcome, [...tool.scopes, ...(outcome.scopes ?? [])])
  return outcome.result
}

type Outcome = {
  result: CallToolResult
  text: string
  code?: ErrorCode
  isCancelled?: boolean
  scopes?: readonly Scope[]
}

function requireScopes(tool: Tool, { principal }: RequestContext): void {
  const missing = missingScopes(tool, principal.scopes)
  if (missing.length === 0) return
  const message = `This tool needs the scope ${missing.join(' ')}, which was not granted`
  throw new ServiceError('FORBIDDEN', message, { hint: howToGetScopes(tool, principal) })
}

function howToGetScopes(tool: Tool, { machineAgent, obtainableScopes }: McpPrincipal): string {
  const isObtainable = missingScopes(tool, obtainableScopes).length === 0
  if (machineAgent) {
    return isObtainable
      ? 'Request a token with that scope; do not retry with this one.'
      : 'An admin can create a machine agent that has it; do not retry.'
  }
  return isObtainable
    ? 'Ask the user to reconnect and allow it; do not retry.'
    : 'Ask the user for an API token with that scope; do not retry.'
}

function parseInput(tool: Tool, input: unknown): unknown {
  const { data, error } = tool.input.safeParse(readArguments(tool, input), MISSING)
  if (!error) return data
  throw new ServiceError('INVALID_REQUEST', 'The arguments are not valid', {
    problems: error.issues.map((issue) => `${pathOf(issue.path)}${problemOf(issue)}`),
  })
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? '' : `${path.map(safeName).join('.')}: `
const problemOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys'
    ? `${issue.keys.map(safeName).join(', ')} is not an argument`
    : issue.message

/** Only plain identifiers are repeated: any other text may be a prompt injection for the model that reads it. */
const safeName = (name: PropertyKey): string => (/^\w{1,63}$/.test(String(name)) ? String(name) : '…')

function succeeded(tool: Tool, answer: object): Outcome {
  if (answer instanceof ProtocolAnswer) {
    // The SDK passes them on as they are, and has no type that is both.
    const result = answer.result as unknown as CallToolResult
    return { text: JSON.stringify(result), result, scopes: answer.scopes }
  }
  if (answer instanceof CardAnswer) {
    const { text, result } = succeeded(tool, answer.answer)
    return { text, result: { ...result, _meta: { ...result._meta, ...answer.shown } } }
  }
  // Every tool limits its own answer; this catches one that does not.
  const text = JSON.stringify(answer)
  if (!textFits(text)) throw new Error(`an answer of ${tool.name} is too large`)
  return {
    text,
    result: {
      ...textResult(text, tool.isUntrusted),
      ...(tool.output && { structuredContent: answer }),
    },
  }
}

export const textResult = (text: string, isUntrusted = false): CallToolResult => ({
  content: [{ type: 'text', text }],
  ...(isUntrusted && { _meta: UNTRUSTED }),
})

/** An agent reads every word and may act on it, so an answer never contains an exception's text. */
function failed(
  { log, requestId }: RequestContext,
  tool: Tool,
  error: unknown,
  signal: AbortSignal,
): Outcome {
  const isOurs = error instanceof ServiceError && error.code !== 'UNEXPECTED'
  const isCancelled = signal.aborted
  if (!isOurs && !isCancelled) log.warn('tool failed', { tool: tool.name, request_id: requestId, error })
  const known = isOurs ? error : new ServiceError('UNEXPECTED')
  const text = errorText(known, tool.notFoundText)
  return { text, code: known.code, isCancelled, result: { content: [{ type: 'text', text }], isError: true } }
}

/**
 * Started when the answer is ready and awaited before the request ends, so that a shutdown loses none. If it fails, the
 * call is answered all the same. Not aborted when the client disconnects.
 */
export function report(
  context: Pick<RequestContext, 'log' | 'requestId' | 'call' | 'reports'>,
  toolCall: ToolCall,
  startedAt: number,
  { text = '', code, isCancelled }: Partial<Outcome>,
  scopes: readonly Scope[] = [],
): void {
  const { log, requestId } = context
  const question = JSON.stringify(toolCall.input ?? {})
  const name = TOOLS.find((tool) => tool.name === toolCall.name)?.name
  context.reports.push(
    context
      .call({ traceparent: toolCall.traceparent })(reportToolCall, {
        // Only names of tools are stored: any other name could be anything.
        name: name ?? 'unknown_tool',
        outcome: code === undefined ? 'answered' : ERRORS[code].status < 500 ? 'refused' : 'failed',
        // A client that disconnects is not an error.
        error: isCancelled ? undefined : code,
        duration_ms: Math.round(performance.now() - startedAt),
        question_bytes: Buffer.byteLength(question),
        answer_bytes: Buffer.byteLength(text),
        question_sha256: sha256(question),
        answer_sha256: text === '' ? undefined : sha256(text),
        // All that the tool asks for: with one of them taken away it could not be called again.
        scopes: [...scopes],
      })
      .then(
        () => {},
        (error: unknown) => log.warn('call not reported', { tool: name, request_id: requestId, error }),
      ),
  )
}

/** The calls in a message, or in a batch of them, that the SDK has not handled yet. */
export const toolCallsIn = (message: unknown): ToolCall[] =>
  [message].flat().flatMap((one) => readToolCall(one) ?? [])

export function readToolCall(message: unknown): ToolCall | undefined {
  if (!isObject(message) || message['method'] !== 'tools/call') return undefined
  const { params } = message
  if (!isObject(params) || typeof params['name'] !== 'string') return undefined
  const { name, arguments: input, _meta: meta } = params
  if (meta !== undefined && !isObject(meta)) return undefined
  return { name, input, traceparent: traceparentIn(meta) }
}

/** By hand, because every message is looked at before the SDK sees it. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** W3C Trace Context, 3.2: version 00; ids of all zeros are invalid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The protocol reserves this key; a malformed value is ignored. */
export function traceparentIn(meta: Record<string, unknown> | undefined): string | undefined {
  const given = meta?.['traceparent']
  return typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined
}
