/** The doctor with a token in hand: shakes hands, lists the tools and asks who it acts for. */
import {
  ask,
  Broken,
  member,
  message,
  parse,
  shown,
  textOf,
  type Asking,
  type Era,
  type Json,
} from './doctor-asks.ts'

type Reply = { result?: unknown; error?: unknown }

export async function* callAsClient(endpoint: URL, token: string, asking: Asking): AsyncGenerator<string> {
  const call = (era: Era, method: string, params?: Json) =>
    callOnce(endpoint, token, asking, era, method, params)

  const discovered = await call('of 2026', 'server/discover')
  const era = discovered.error === undefined ? 'of 2026' : 'of 2025'
  const greeting = era === 'of 2026' ? discovered : await call(era, 'initialize')
  if (greeting.result === undefined) {
    throw new Broken(
      'handshake: neither server/discover nor initialize is answered',
      'check that an MCP server stands behind the address',
    )
  }
  yield `handshake: ${era === 'of 2026' ? 'server/discover' : 'initialize'} is answered`

  const tools = member((await call(era, 'tools/list')).result, 'tools')
  if (!Array.isArray(tools))
    throw new Broken('tools/list: it lists no tools', 'look at the log of the server')
  const names = tools.map((tool: unknown) => member(tool, 'name'))
  yield `tools/list: ${names.length === 0 ? 'none for this token' : names.map(shown).join(', ')}`

  // Hidden by ?tools=, for example: that is as it should be.
  if (!names.includes('whoami')) return yield 'whoami: not offered here'
  const { result } = await call(era, 'tools/call', { name: 'whoami', arguments: {} })
  if (result === undefined || member(result, 'isError') === true) {
    throw new Broken('whoami: the tool failed', 'look for the request in the log of the gateway')
  }
  yield `whoami: ${whoOf(result)}`
}

async function callOnce(
  endpoint: URL,
  token: string,
  asking: Asking,
  era: Era,
  method: string,
  params?: Json,
): Promise<Reply> {
  const response = await ask(method, endpoint, message(era, method, params, token), asking)
  if (response.status === 401) {
    throw new Broken(
      'token: it is not taken here',
      'it may have expired or been revoked, not be meant for this endpoint (its audience), or agents may be switched off',
    )
  }
  if (response.status === 403)
    throw new Broken('token: it lacks a scope for this endpoint', 'make one that has it')
  const reply = replyIn(response.headers.get('content-type') ?? '', await textOf(method, endpoint, response))
  if (response.status >= 500 || !reply) {
    throw new Broken(
      `${method}: the answer is ${response.status} and no JSON-RPC`,
      'look at the log of the server, and at what stands in front of it',
    )
  }
  return reply
}

/** As JSON, or as the last event of a stream. */
function replyIn(type: string, text: string): Reply | undefined {
  const isStream = type.startsWith('text/event-stream')
  const body = parse(
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

function whoOf(result: unknown): string {
  const content = member(result, 'content')
  const text: unknown = Array.isArray(content) ? member(content[0], 'text') : undefined
  const who = typeof text === 'string' ? parse(text) : undefined
  const [user, organization, role] = [
    member(member(who, 'user'), 'email'),
    member(member(who, 'organization'), 'name'),
    member(who, 'role'),
  ]
  return typeof user === 'string' ? `${shown(user)}, ${shown(role)} in ${shown(organization)}` : 'answered'
}
