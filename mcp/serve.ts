/** One MCP message, answered by a server made for it: nothing is remembered between two requests. */
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  readRequestBody,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { BODY_MAX_BYTES } from '../src/contracts/limits.ts'
import { offerAskData } from './ask-data.ts'
import { callTool, report } from './call-tool.ts'
import { missingScopes } from './choose-tools.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { offerMorningBrief } from './morning-brief.ts'
import { rpcError } from './refuse.ts'
import { RESOURCE_NAMES } from './resource.ts'
import type { Serving } from './serving.ts'
import { offerSkills } from './skills.ts'
import { readToolCall, traceparentIn } from './tool-call.ts'

/** Another one stands here only in the official suite, which brings its own tools. */
export type MakeServer = (serving: Serving) => McpServer

export async function serve(
  raw: Request,
  serving: Serving,
  makeServer: MakeServer = serverFor,
): Promise<Response> {
  const body = await readRequestBody(raw, BODY_MAX_BYTES)
  if (body.tooLarge) return rpcError(413, `A message may have at most ${BODY_MAX_BYTES} bytes`)
  const request = forSdk(raw, body.text)
  const parsedBody = parse(body.text)
  const response =
    stepUp(serving, parsedBody, raw.signal) ?? (await dispatch(raw, request, parsedBody, serving, makeServer))
  return whenReported(response, serving)
}

async function dispatch(
  raw: Request,
  request: Request,
  parsedBody: unknown,
  serving: Serving,
  makeServer: MakeServer,
): Promise<Response> {
  if (takesJsonOnly(raw) && (await isLegacyRequest(request, parsedBody))) {
    return answerInJson(request, parsedBody, makeServer(serving))
  }
  const handler = createMcpHandler(() => makeServer(serving), { onerror: serving.onFailure })
  return handler.fetch(request, parsedBody === undefined ? {} : { parsedBody })
}

/** A minute: a role that changed is known to the call itself at once, and to the list soon. */
const CACHED = { ttlMs: 60_000, cacheScope: 'private' } as const

const PROMPTS = [
  { needs: 'search', offer: offerAskData },
  { needs: 'notifications_list', offer: offerMorningBrief },
]

function serverFor(serving: Serving): McpServer {
  const { resource, version, choice, skills } = serving
  const hasSkills = resource === 'platform'
  const has = (tool: string) => choice.listed.some(({ name }) => name === tool)
  // A prompt is offered with the tool that it leads to.
  const prompts = PROMPTS.filter(({ needs }) => has(needs))
  const server = new McpServer(
    { name: RESOURCE_NAMES[resource].replace(' ', '-'), title: RESOURCE_NAMES[resource], version },
    {
      instructions: INSTRUCTIONS[resource],
      // Nothing is ever announced, so `subscriptions/listen` ends at once instead of holding a socket, which would
      // outlive a revoked grant and delay every stop.
      capabilities: {
        tools: { listChanged: false },
        ...(prompts.length > 0 && { prompts: { listChanged: false } }),
        ...(hasSkills && { resources: { listChanged: false } }),
      },
      cacheHints: { 'tools/list': CACHED, 'prompts/list': CACHED, 'server/discover': CACHED },
    },
  )
  // Not by `registerTool`: it would convert schemas with every request, and answer what it refuses in words, and
  // without a row, of its own.
  server.server.setRequestHandler('tools/list', () => ({ tools: choice.listed.map(({ listed }) => listed) }))
  server.server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
    callTool(serving, {
      name: params.name,
      input: params.arguments ?? {},
      traceparent: traceparentIn(mcpReq._meta),
      signal: mcpReq.signal,
    }),
  )
  for (const { offer } of prompts) offer(server)
  if (hasSkills) offerSkills(server, skills)
  return server
}

/**
 * RFC 6750, 3.1: a scope that is missing is asked for at the level of HTTP, before the message is anybody's. Calls in a
 * batch, which only clients of early 2025 send, are told in words.
 */
function stepUp(serving: Serving, message: unknown, signal: AbortSignal): Response | undefined {
  const call = serving.challenge && readToolCall(message)
  const tool = call && serving.choice.callable.find(({ name }) => name === call.name)
  if (!tool || missingScopes(tool, serving.entrant.scopes).length === 0) return undefined
  report(serving, { asked: { ...call, signal }, began: performance.now(), code: 'FORBIDDEN' })
  return serving.challenge?.(tool.scopes)
}

/** A stream has said its answer by the time it waits here; a body of JSON leaves with the row about it. */
async function whenReported(response: Response, { reports }: Serving): Promise<Response> {
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
 * What the SDK gets to see. The token stays here. Accept becomes what it insists on for older clients, of which some send
 * anything at all.
 */
function forSdk({ url, method, headers: given, signal }: Request, body: string): Request {
  const headers = new Headers(given)
  headers.delete('authorization')
  headers.set('accept', 'application/json, text/event-stream')
  return new Request(url, { method, headers, body, signal })
}

/** Undefined when it is no JSON: the SDK knows how to say so. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const takesJsonOnly = ({ headers }: Request): boolean => {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && !/text\/event-stream|\*\/\*/.test(accept)
}

/** Older clients get their answer as an event stream; one that says it reads only JSON would not understand it. */
async function answerInJson(request: Request, parsedBody: unknown, server: McpServer): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  const leave = () => void server.close()
  request.signal.addEventListener('abort', leave, { once: true })
  try {
    return await transport.handleRequest(request, parsedBody === undefined ? {} : { parsedBody })
  } finally {
    request.signal.removeEventListener('abort', leave)
    await server.close()
  }
}
