/** Checks an MCP endpoint with a token: handshake, tools/list, and the tool whoami. */
import { readJson } from '../../contracts/read-json.ts'
import {
  assertCheck,
  LEGACY,
  mcpRequest,
  member,
  MODERN,
  readBody,
  sanitize,
  sendRequest,
  type HttpOptions,
  type Json,
  type ProtocolVersion,
} from './http.ts'

type Reply = { result?: unknown; error?: unknown }

export async function* checkMcpTools(
  endpoint: URL,
  token: string,
  http: HttpOptions,
): AsyncGenerator<string> {
  const call = (version: ProtocolVersion, method: string, params?: Json) =>
    callMethod(endpoint, token, http, version, method, params)

  const discovered = await call(MODERN, 'server/discover')
  const version = discovered.error === undefined ? MODERN : LEGACY
  const handshake = version === MODERN ? discovered : await call(version, 'initialize')
  assertCheck(
    handshake.result !== undefined,
    'handshake: neither server/discover nor initialize succeeds',
    'check that this is the URL of an MCP server',
  )
  yield `handshake: ${version === MODERN ? 'server/discover' : 'initialize'} succeeds`

  const tools = member((await call(version, 'tools/list')).result, 'tools')
  assertCheck(Array.isArray(tools), 'tools/list: no list of tools', 'check the log of the server')
  const names = tools.map((tool: unknown) => member(tool, 'name'))
  yield `tools/list: ${names.length === 0 ? 'none for this token' : names.map(sanitize).join(', ')}`

  // Hidden by ?tools=, for example, which is fine.
  if (!names.includes('whoami')) return yield 'whoami: not offered'
  const { result } = await call(version, 'tools/call', { name: 'whoami', arguments: {} })
  assertCheck(
    result !== undefined && member(result, 'isError') !== true,
    'whoami: the tool failed',
    'check the log of the gateway',
  )
  yield `whoami: ${formatWhoami(result)}`
}

async function callMethod(
  endpoint: URL,
  token: string,
  http: HttpOptions,
  version: ProtocolVersion,
  method: string,
  params?: Json,
): Promise<Reply> {
  const response = await sendRequest(method, endpoint, mcpRequest(version, method, params, token), http)
  assertCheck(
    response.status !== 401,
    'token: rejected',
    'it may be expired, revoked or for another endpoint (its audience), or access for assistants may be turned off',
  )
  assertCheck(
    response.status !== 403,
    'token: missing a scope for this endpoint',
    'create a token with that scope',
  )
  const reply = parseReply(
    response.headers.get('content-type') ?? '',
    await readBody(method, endpoint, response),
  )
  assertCheck(
    response.status < 500 && reply,
    `${method}: the response is ${response.status} and not JSON-RPC`,
    'check the log of the server, and any proxy in front of it',
  )
  return reply
}

/** JSON, or the last event of a stream. */
function parseReply(type: string, text: string): Reply | undefined {
  const isStream = type.startsWith('text/event-stream')
  const body = readJson(
    isStream
      ? (text
          .match(/^data: ?(.+)$/gm)
          ?.at(-1)
          ?.replace(/^data: ?/, '') ?? '')
      : text,
  )
  const [result, error] = [member(body, 'result'), member(body, 'error')]
  return result === undefined && error === undefined ? undefined : { result, error }
}

function formatWhoami(result: unknown): string {
  const content = member(result, 'content')
  const text: unknown = Array.isArray(content) ? member(content[0], 'text') : undefined
  const who = typeof text === 'string' ? readJson(text) : undefined
  const [user, organization, role] = [
    member(member(who, 'user'), 'email'),
    member(member(who, 'organization'), 'name'),
    member(who, 'role'),
  ]
  return typeof user === 'string'
    ? `${sanitize(user)}, ${sanitize(role)} in ${sanitize(organization)}`
    : 'answered'
}
