/** Answers one MCP message with a server created for it: no state is kept between requests. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  ProtocolErrorCode,
  type McpHttpHandler,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { BODY_MAX_BYTES } from '../src/contracts/limits.ts'
import { missingScopes } from '../src/contracts/mcp-tools.ts'
import { TASKS_EXTENSION } from './client-abilities.ts'
import { callTool, readToolCall, report, toolCallsIn, traceparentIn } from './call-tool.ts'
import { CARDS_EXTENSION } from './chat-card.ts'
import { registerChatCards } from './chat-cards.ts'
import { COMPLETED_PROMPTS, completeArgument } from './complete-argument.ts'
import { instructionsFor } from './instructions.ts'
import { rpcError } from './error-responses.ts'
import { BATCH_MAX } from './limit-calls.ts'
import { isTooDeep, type Message } from './message.ts'
import { PROMPTS } from './prompts.ts'
import { readAbilities } from './read-abilities.ts'
import { SERVER_INFO } from './resource.ts'
import type { RequestContext } from './request-context.ts'
import { registerSkills } from './skills.ts'
import { registerTasks } from './tasks.ts'

/** Replaced only by the official conformance suite, which brings its own tools. */
export type MakeServer = (context: RequestContext) => McpServer

export async function serve(
  raw: Request,
  message: Message,
  context: RequestContext,
  makeServer: MakeServer = serverFor,
): Promise<Response> {
  const { json, isTooLarge } = message
  if (isTooLarge) return rpcError(413, `A message may be at most ${BODY_MAX_BYTES} bytes`)
  if (Array.isArray(json) && json.length > BATCH_MAX) {
    return rpcError(400, `A batch may be at most ${BATCH_MAX} messages`)
  }
  const response =
    refuseUnreadable(context, json) ??
    stepUp(context, json) ??
    (await dispatch(raw, message, context, makeServer))
  return afterReports(response, context)
}

async function dispatch(
  raw: Request,
  { text, json }: Message,
  context: RequestContext,
  makeServer: MakeServer,
): Promise<Response> {
  const isJsonOnly = acceptsJsonOnly(raw)
  const request = forSdk(raw, json === undefined ? text : undefined)
  if (isJsonOnly && (await isLegacyRequest(request, json))) {
    return respondInJson(request, json, makeServer(context))
  }
  const options = json === undefined ? {} : { parsedBody: json }
  return current.run(context, () => handlerOf(makeServer).fetch(request, options))
}

/** Whose message a handler is answering. All requests share the handler, so nothing about one of them is kept in it. */
const current = new AsyncLocalStorage<RequestContext>()

const handlers = new WeakMap<MakeServer, McpHttpHandler>()

function handlerOf(makeServer: MakeServer): McpHttpHandler {
  const handler =
    handlers.get(makeServer) ??
    createMcpHandler(() => makeServer(currentContext()), {
      onerror: (error) => currentContext().onFailure(error),
    })
  handlers.set(makeServer, handler)
  return handler
}

function currentContext(): RequestContext {
  const context = current.getStore()
  if (!context) throw new Error('a message is answered outside of its request')
  return context
}

/** One minute: a changed role affects calls at once and the lists soon after. */
const CACHED = { ttlMs: 60_000, cacheScope: 'private' } as const

function serverFor(context: RequestContext): McpServer {
  const { resource, version, method, choice, skills, authExtensions } = context
  const hasSkills = resource === 'platform'
  const prompts = PROMPTS.filter(({ tool }) => choice.listed.some(({ name }) => name === tool))
  const hasTasks = choice.listed.some(({ name }) => name === 'maintenance_run')
  const extensions = [...authExtensions, CARDS_EXTENSION, ...(hasTasks ? [TASKS_EXTENSION] : [])]
  const hasCompletion = prompts.some(({ name }) => COMPLETED_PROMPTS.includes(name))
  const server = new McpServer(
    { ...SERVER_INFO[resource], version },
    {
      instructions: instructionsFor(context),
      // No change notifications, so `subscriptions/listen` ends at once instead of holding a socket, which would
      // outlive a revoked grant and delay every shutdown.
      capabilities: {
        tools: { listChanged: false },
        ...(prompts.length > 0 && { prompts: { listChanged: false } }),
        ...(hasCompletion && { completions: {} }),
        resources: { listChanged: false },
        extensions: Object.fromEntries(extensions.map((one) => [one, {}])),
      },
      cacheHints: { 'tools/list': CACHED, 'prompts/list': CACHED, 'server/discover': CACHED },
    },
  )
  // Not by `registerTool`: it would convert schemas on every request, and refuse calls in its own words without
  // recording activity.
  server.server.setRequestHandler('tools/list', () => ({ tools: choice.listed.map(({ listed }) => listed) }))
  server.server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
    callTool(
      context,
      { name: params.name, input: params.arguments ?? {}, traceparent: traceparentIn(mcpReq._meta) },
      { signal: mcpReq.signal, client: readAbilities(mcpReq) },
    ),
  )
  // Most messages: all that is below would never be asked for, and takes longer than all that is above.
  if (isAboutTools(method)) return server
  if (hasTasks) registerTasks(server, context)
  for (const { register } of prompts) register(server)
  if (hasCompletion) {
    server.server.setRequestHandler('completion/complete', ({ params }, { mcpReq }) =>
      completeArgument(context, params, mcpReq.signal),
    )
  }
  registerChatCards(server, context)
  if (hasSkills) registerSkills(server, skills)
  return server
}

/** A server answers one message. What it can do beyond that is in its capabilities, whatever is registered. */
const isAboutTools = (method: string | undefined): boolean =>
  method === 'tools/call' || method === 'tools/list'

/** What the SDK would refuse without an activity row, or could not read at all. A batch is refused as a whole. */
function refuseUnreadable(context: RequestContext, message: unknown): Response | undefined {
  const isDeep = isTooDeep(message)
  const unreadable = toolCallsIn(message).filter(({ input }) => isDeep || !isArguments(input))
  if (!isDeep && unreadable.length === 0) return undefined
  for (const toolCall of unreadable) {
    report(context, { ...toolCall, input: undefined }, performance.now(), { code: 'INVALID_REQUEST' })
  }
  return rpcError(200, isDeep ? 'The message is nested too deeply' : 'The arguments must be an object', {
    id: idOf(message),
    code: ProtocolErrorCode.InvalidParams,
  })
}

const isArguments = (input: unknown): boolean =>
  input == null || (typeof input === 'object' && !Array.isArray(input))

const idOf = (message: unknown): string | number | null =>
  z.object({ id: z.union([z.string(), z.number()]) }).safeParse(message).data?.id ?? null

/**
 * RFC 6750, 3.1: a missing scope is requested at the HTTP level, before the SDK sees the message. Calls in a batch, which
 * only clients of early 2025 send, get a tool error instead.
 */
function stepUp(context: RequestContext, message: unknown): Response | undefined {
  const call = context.challenge && readToolCall(message)
  const tool = call && context.choice.callable.find(({ name }) => name === call.name)
  if (!tool) return undefined
  const { scopes, obtainableScopes, machineAgent } = context.principal
  if (missingScopes(tool, scopes).length === 0 || missingScopes(tool, obtainableScopes).length > 0)
    return undefined
  report(context, call, performance.now(), { code: 'FORBIDDEN' })
  // With its scopes alone a machine agent would lose those that it has: nobody is asked, so all at once.
  return context.challenge?.(machineAgent ? obtainableScopes : tool.scopes)
}

/** A stream has sent its answer before it waits here; a JSON response is sent once activity is recorded. */
async function afterReports(response: Response, { reports }: RequestContext): Promise<Response> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (!isStream || !response.body) {
    await Promise.all(reports)
    return response
  }
  const body = response.body.pipeThrough(
    new TransformStream({ flush: () => Promise.all(reports).then(() => {}) }),
  )
  return new Response(body, response)
}

/**
 * What the SDK sees: the request without the agent's token, which was read before. Accept is set to what it insists on,
 * because some older clients send something else. A body that is not JSON is given back, for the SDK to refuse.
 */
function forSdk(raw: Request, unreadBody: string | undefined): Request {
  const { url, method, headers, signal } = raw
  headers.delete('authorization')
  headers.set('accept', 'application/json, text/event-stream')
  return unreadBody === undefined ? raw : new Request(url, { method, headers, body: unreadBody, signal })
}

const acceptsJsonOnly = ({ headers }: Request): boolean => {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && !/text\/event-stream|\*\/\*/.test(accept)
}

/** Older clients get an event stream, which a client that accepts only JSON could not read. */
async function respondInJson(request: Request, parsedBody: unknown, server: McpServer): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  const close = () => void server.close()
  request.signal.addEventListener('abort', close, { once: true })
  try {
    return await transport.handleRequest(request, parsedBody === undefined ? {} : { parsedBody })
  } finally {
    request.signal.removeEventListener('abort', close)
    await server.close()
  }
}
