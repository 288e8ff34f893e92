/** The boundary of every tool call: who may, what is wrong with it, what it answers, how large it is, and one row about it. */
import { createHash } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server'
import type * as z from 'zod'
import type { Call } from '../src/client/call.ts'
import { reportCall } from '../src/contracts/activity.ts'
import { fetchFound, queryDataSource, searchEverywhere } from '../src/contracts/data-sources.ts'
import { ERRORS, ServiceError, type ErrorCode } from '../src/contracts/errors.ts'
import type { Operation } from '../src/contracts/operation.ts'
import { missingScopes } from './choose-tools.ts'
import { fits } from './fit.ts'
import { sentenceFor } from './sentence.ts'
import type { Serving } from './serving.ts'
import type { Tool } from './tool.ts'
import { TOOLS } from './tools.ts'

/** decisions, section 5: the core writes these down itself, refused ones too, so that they are not reported again. */
const WRITTEN_DOWN_BY_CORE: ReadonlySet<Operation> = new Set<Operation>([
  queryDataSource,
  searchEverywhere,
  fetchFound,
])

/** Rows, and what people wrote into them, are for a client to keep apart from what the user said. */
const UNTRUSTED = { 'svc/untrusted': true }

export type Asked = {
  name: string
  input: unknown
  /** W3C trace context that came with the message. */
  traceparent: string | undefined
  signal: AbortSignal
}

export async function callTool(serving: Serving, asked: Asked): Promise<CallToolResult> {
  const began = performance.now()
  const { choice, entrant, narrowing, appUrl } = serving
  const { name, input, traceparent, signal } = asked
  const tool = choice.callable.find((one) => one.name === name)
  if (!tool) {
    report(serving, { asked, began, code: 'NOT_FOUND' })
    // Hidden or never heard of: the same words, and not the caller's own, which end up before a model.
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'No such tool. tools/list names those you have.')
  }
  let isWrittenDown = false
  const ask = serving.call({ traceparent, signal })
  const call: Call = (operation, given) => {
    isWrittenDown ||= WRITTEN_DOWN_BY_CORE.has(operation)
    return ask(operation, given)
  }
  let ended: Ended
  try {
    requireScopes(tool, serving)
    const at = { call, entrant, narrowing, hidden: choice.hidden, appUrl }
    ended = answered(tool, await tool.run(read(tool, input), at))
  } catch (error) {
    ended = failed(serving, tool, error, signal)
  }
  if (!isWrittenDown) report(serving, { asked, began, ...ended })
  return ended.result
}

type Ended = { result: CallToolResult; text: string; code?: ErrorCode; isCancelled?: boolean }

function requireScopes(tool: Tool, { entrant }: Serving): void {
  const missing = missingScopes(tool, entrant.scopes)
  if (missing.length === 0) return
  throw new ServiceError(
    'FORBIDDEN',
    `This tool needs the scope ${missing.join(' ')}, which was not granted`,
    {
      hint: entrant.canStepUp
        ? 'Ask the user to connect again and to allow it; do not retry.'
        : 'Ask the user for an API token with that scope; do not retry.',
    },
  )
}

/** Only names that can be names are said back: what a stranger wrote may be meant for the model that reads it. */
const MAY_BE_SAID = /^\w{1,63}$/

function read(tool: Tool, input: unknown): unknown {
  const { data, error } = tool.input.safeParse(input)
  if (!error) return data
  throw new ServiceError('INVALID_REQUEST', 'The arguments do not fit', {
    problems: error.issues.map((issue) => `${pathOf(issue.path)}${problemOf(issue)}`),
  })
}

const said = (name: PropertyKey): string => (MAY_BE_SAID.test(String(name)) ? String(name) : '…')
const pathOf = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? '' : `${path.map(said).join('.')}: `
const problemOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' ? `${issue.keys.map(said).join(', ')} is not an argument` : issue.message

function answered(tool: Tool, answer: object): Ended {
  // Every tool cuts its own answer; one that failed to is not let through.
  if (!fits(answer)) throw new Error(`an answer of ${tool.name} is too large`)
  const text = JSON.stringify(answer)
  return {
    text,
    result: {
      content: [{ type: 'text', text }],
      ...(tool.output && { structuredContent: answer }),
      ...(tool.isUntrusted && { _meta: UNTRUSTED }),
    },
  }
}

/** An agent reads every word and may act on it, so text from elsewhere, an exception's say, never gets into an answer. */
function failed({ log, requestId }: Serving, tool: Tool, error: unknown, signal: AbortSignal): Ended {
  const isOurs = error instanceof ServiceError && error.code !== 'UNEXPECTED'
  const isCancelled = signal.aborted
  if (!isOurs && !isCancelled) log.warn('tool failed', { tool: tool.name, request_id: requestId, error })
  const known = isOurs ? error : new ServiceError('UNEXPECTED')
  const text = sentenceFor(known, tool.unknown)
  return { text, code: known.code, isCancelled, result: { content: [{ type: 'text', text }], isError: true } }
}

type Reported = { asked: Asked; began: number; text?: string; code?: ErrorCode; isCancelled?: boolean }

/**
 * Begun when the answer is made, so that it is written while the answer is; awaited before the request ends, so that a
 * stop loses none. What cannot be reported is answered all the same. Not ended when the client goes away.
 */
export function report(serving: Serving, { asked, began, text = '', code, isCancelled }: Reported): void {
  const { log, requestId } = serving
  const question = JSON.stringify(asked.input ?? {})
  const name = TOOLS.find((tool) => tool.name === asked.name)?.name
  serving.reports.push(
    serving
      .call({ traceparent: asked.traceparent })(reportCall, {
        // Names are kept, words are not: one that is no tool's could be anything.
        name: name ?? 'unknown_tool',
        outcome: code === undefined ? 'answered' : ERRORS[code].status < 500 ? 'refused' : 'failed',
        // Nothing went wrong when the client only went away.
        error: isCancelled ? undefined : code,
        duration_ms: Math.round(performance.now() - began),
        question_bytes: Buffer.byteLength(question),
        answer_bytes: Buffer.byteLength(text),
        question_sha256: sha256(question),
        answer_sha256: text === '' ? undefined : sha256(text),
      })
      .then(
        () => {},
        (error: unknown) => log.warn('call not reported', { tool: name, request_id: requestId, error }),
      ),
  )
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
