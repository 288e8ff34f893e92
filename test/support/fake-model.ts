/** A model on loopback that calls the tool a test names: Anthropic's Messages API and OpenAI's Responses API, streamed. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export type FakeModel = {
  readonly origin: string
  /**
   * At its next turn it calls this tool of the server `svc` if it was offered, and ends the turn with its answer. It
   * forgets what it heard before.
   */
  readonly plan: (tool: string, input: Record<string, unknown>) => void
  /** The tools of the server `svc` among those it was offered in the last request, without their prefix. */
  readonly offered: () => string[]
  /** What the tool answered; undefined when it was not there to be called. */
  readonly answer: () => string | undefined
  readonly close: () => void
}

/** One kind of API: what a request offers and says, and the events of an answer. */
type Dialect = {
  readonly offered: (body: Body) => string[]
  /** What the last message of the request says that the called tool answered. */
  readonly answer: (body: Body) => string | undefined
  readonly call: (tool: string, input: Record<string, unknown>) => Events
  readonly say: (text: string) => Events
}
type Events = readonly (readonly [type: string, data: Record<string, unknown>])[]
type Body = {
  readonly tools?: readonly { name?: string; tools?: readonly { name: string }[] }[]
  readonly messages?: readonly { content: unknown }[]
  readonly input?: readonly { type: string; output?: unknown }[]
}

const PREFIX = 'mcp__svc__'
const NAMESPACE = 'mcp__svc'

const DIALECTS: Readonly<Record<string, Dialect>> = {
  '/v1/messages': {
    offered: ({ tools = [] }) =>
      tools.flatMap(({ name = '' }) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : [])),
    answer({ messages = [] }) {
      const content = messages.at(-1)?.content
      const blocks = Array.isArray(content) ? (content as { type: string; content?: unknown }[]) : []
      const result = blocks.find(({ type }) => type === 'tool_result')
      return result && textOf(result.content)
    },
    call: (tool, input) =>
      message(
        { type: 'tool_use', id: `toolu_${randomUUID()}`, name: PREFIX + tool, input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify(input) },
        'tool_use',
      ),
    say: (text) => message({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
  },
  '/v1/responses': {
    offered: ({ tools = [] }) =>
      tools.flatMap(({ name, tools: members = [] }) =>
        name === NAMESPACE ? members.map((member) => member.name) : [],
      ),
    answer({ input = [] }) {
      const last = input.at(-1)
      return last?.type === 'function_call_output' ? textOf(last.output) : undefined
    },
    call: (tool, input) =>
      response({
        type: 'function_call',
        id: `fc_${randomUUID()}`,
        call_id: `call_${randomUUID()}`,
        namespace: NAMESPACE,
        name: tool,
        arguments: JSON.stringify(input),
      }),
    say: (text) =>
      response({
        type: 'message',
        id: `msg_${randomUUID()}`,
        role: 'assistant',
        content: [{ type: 'output_text', text }],
      }),
  },
}

const message = (block: object, delta: object, stop_reason: string): Events => {
  const usage = { input_tokens: 1, output_tokens: 1 }
  // Messages with one id would be taken for one.
  const start = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model: 'fake',
    content: [],
    usage,
  }
  return [
    ['message_start', { message: { ...start, stop_reason: null, stop_sequence: null } }],
    ['content_block_start', { index: 0, content_block: block }],
    ['content_block_delta', { index: 0, delta }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }],
    ['message_stop', {}],
  ]
}

const response = (item: object): Events => {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const id = `resp_${randomUUID()}`
  return [
    ['response.created', { response: { id } }],
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response: { id, usage } }],
  ]
}

/** A text, or a list of blocks with texts. */
const textOf = (content: unknown): string =>
  Array.isArray(content)
    ? (content as { text?: string }[]).map(({ text = '' }) => text).join('\n')
    : String(content)

export async function openFakeModel(): Promise<FakeModel> {
  let planned: { tool: string; input: Record<string, unknown> } | undefined
  let offered: string[] = []
  let answer: string | undefined

  function reply(dialect: Dialect, body: Body): Events {
    const tools = dialect.offered(body)
    const heard = dialect.answer(body)
    // Small questions beside the conversation come without any tools.
    if (body.tools && body.tools.length > 0) offered = tools
    if (heard !== undefined) answer = heard
    if (heard !== undefined || !planned || !tools.includes(planned.tool)) return dialect.say('Done.')
    return dialect.call(planned.tool, planned.input)
  }

  const server = createServer((request, outgoing) => {
    const [path = ''] = (request.url ?? '').split('?')
    const dialect = request.method === 'POST' ? DIALECTS[path] : undefined
    if (!dialect) {
      outgoing.writeHead(404, { 'content-type': 'application/json' }).end('{}')
      return
    }
    void readBody(request).then((body) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const [type, data] of reply(dialect, body)) {
        outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
      }
      outgoing.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan(tool, input) {
      planned = { tool, input }
      offered = []
      answer = undefined
    },
    offered: () => offered,
    answer: () => answer,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function readBody(request: IncomingMessage): Promise<Body> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) text += chunk
  return JSON.parse(text) as Body
}
