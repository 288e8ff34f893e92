/** One MCP message, answered by a server made for it: nothing is remembered between two requests. */
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  readRequestBody,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { BODY_MAX_BYTES } from '../src/contracts/limits.ts'
import type { Resource } from '../src/contracts/scopes.ts'
import { rpcError } from './refuse.ts'
import { RESOURCE_NAMES } from './resource.ts'
import type { Workplace } from './tool.ts'
import { offerWhoAmI } from './whoami.ts'

const INSTRUCTIONS =
  'You act for one user in one organization. Call whoami when unsure who that is and what you may do.'

type Serving = {
  resource: Resource
  version: string
  workplace: Workplace
  onFailure: (error: Error) => void
}

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
  if (takesJsonOnly(raw) && (await isLegacyRequest(request, parsedBody))) {
    return answerInJson(request, parsedBody, makeServer(serving))
  }
  const handler = createMcpHandler(() => makeServer(serving), { onerror: serving.onFailure })
  return handler.fetch(request, parsedBody === undefined ? {} : { parsedBody })
}

function serverFor({ resource, version, workplace }: Serving): McpServer {
  const server = new McpServer(
    { name: RESOURCE_NAMES[resource].replace(' ', '-'), title: RESOURCE_NAMES[resource], version },
    {
      instructions: INSTRUCTIONS,
      // Nothing is ever announced, so `subscriptions/listen` ends at once instead of holding a socket, which would
      // outlive a revoked grant and delay every stop.
      capabilities: { tools: { listChanged: false } },
    },
  )
  offerWhoAmI(server, workplace)
  return server
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
  try {
    return await transport.handleRequest(request, parsedBody === undefined ? {} : { parsedBody })
  } finally {
    await server.close()
  }
}
