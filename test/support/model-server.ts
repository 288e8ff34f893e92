/**
 * A provider of language models on loopback that speaks all three wires, follows a script, misbehaves where the script
 * says so, and keeps what it was sent.
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readJson } from 'node:stream/consumers'
import type { ModelWire } from '../../src/contracts/model-port.ts'

export type ScriptedCall = { readonly name: string; readonly arguments: unknown }

export type ScriptedTurn =
  | {
      readonly text?: string
      readonly calls?: readonly ScriptedCall[]
      /** Input and output; null: the answer says nothing of usage. */
      readonly tokens?: readonly [number, number] | null
      /** `stop`: some servers that speak `openai-chat` say so after a call too. */
      readonly ending?: 'length' | 'filtered' | 'stop'
    }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Answers nothing, or half, or hangs up. */
  | { readonly fault: 'silence' | 'reset' | 'cut off' | 'not json' | 'no content' | 'endless' }

export type ReceivedRequest = {
  readonly wire: ModelWire
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

export type ModelServer = {
  readonly origin: string
  readonly received: readonly ReceivedRequest[]
  stop(): Promise<void>
}

const PATHS: Readonly<Record<string, ModelWire>> = {
  '/v1/messages': 'anthropic',
  '/v1/responses': 'openai-responses',
  '/v1/chat/completions': 'openai-chat',
}

/** The last turn of the script is repeated for ever; a function decides by what it was sent. */
export async function startModelServer(
  script: readonly ScriptedTurn[] | ((request: ReceivedRequest, count: number) => ScriptedTurn),
): Promise<ModelServer> {
  const received: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    const wire = PATHS[request.url ?? '']
    if (!wire || request.method !== 'POST') return void response.writeHead(404).end()
    void (readJson(request) as Promise<Record<string, unknown>>).then((body) => {
      const asked = { wire, headers: request.headers, body }
      received.push(asked)
      const at = received.length - 1
      const turn = typeof script === 'function' ? script(asked, at) : script[Math.min(at, script.length - 1)]!
      play(turn, wire, response, at)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function play(turn: ScriptedTurn, wire: ModelWire, response: ServerResponse, at: number): void {
  if ('fault' in turn) return misbehave(turn.fault, response)
  if ('status' in turn) return void response.writeHead(turn.status, turn.headers).end(turn.body ?? '{}')
  const calls = (turn.calls ?? []).map((call, n) => ({ ...call, id: `call_${at}_${n}` }))
  const answer = ANSWERS[wire]({ ...turn, calls })
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

function misbehave(fault: string, response: ServerResponse): void {
  switch (fault) {
    case 'silence':
      return
    case 'reset':
      return void response.socket?.resetAndDestroy()
    case 'cut off':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"content":[')
      return void setTimeout(() => response.socket?.destroy(), 10)
    case 'not json':
      return void response.writeHead(200).end('<html>gateway</html>')
    case 'no content':
      return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"x"}')
    case 'endless': {
      response.writeHead(200)
      const more = () => {
        while (response.write('x'.repeat(64 * 1024))) if (response.destroyed) return
        response.once('drain', more)
      }
      return more()
    }
  }
}

type Answered = Omit<Exclude<ScriptedTurn, { status: number } | { fault: string }>, 'calls'> & {
  readonly calls: readonly (ScriptedCall & { id: string })[]
}

const argumentText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const ANSWERS: Readonly<Record<ModelWire, (turn: Answered) => unknown>> = {
  anthropic: ({ text, calls, tokens = [10, 5], ending }) => ({
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
    ],
    stop_reason:
      ending === 'length'
        ? 'max_tokens'
        : ending === 'filtered'
          ? 'refusal'
          : calls.length > 0
            ? 'tool_use'
            : 'end_turn',
    ...(tokens === null
      ? {}
      : {
          usage: { input_tokens: tokens[0] - 1, cache_read_input_tokens: 1, output_tokens: tokens[1] },
        }),
  }),
  'openai-responses': ({ text, calls, tokens = [10, 5], ending }) => ({
    object: 'response',
    status: ending === undefined ? 'completed' : 'incomplete',
    incomplete_details:
      ending === undefined ? null : { reason: ending === 'length' ? 'max_output_tokens' : 'content_filter' },
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' },
      ...(text === undefined
        ? []
        : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }]),
      ...calls.map((call) => ({
        type: 'function_call',
        call_id: call.id,
        name: call.name,
        arguments: argumentText(call.arguments),
      })),
    ],
    ...(tokens === null ? {} : { usage: { input_tokens: tokens[0], output_tokens: tokens[1] } }),
  }),
  'openai-chat': ({ text, calls, tokens = [10, 5], ending }) => ({
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        finish_reason:
          ending === 'length'
            ? 'length'
            : ending === 'filtered'
              ? 'content_filter'
              : calls.length > 0 && ending !== 'stop'
                ? 'tool_calls'
                : 'stop',
        message: {
          role: 'assistant',
          content: text ?? null,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call) => ({
                  id: call.id,
                  type: 'function',
                  function: { name: call.name, arguments: argumentText(call.arguments) },
                })),
              }),
        },
      },
    ],
    ...(tokens === null ? {} : { usage: { prompt_tokens: tokens[0], completion_tokens: tokens[1] } }),
  }),
}
