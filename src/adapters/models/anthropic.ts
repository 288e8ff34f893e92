/** Anthropic's Messages API. Thinking blocks go back unchanged, with their signatures. */
import type { Ending, ModelMessage } from '../../contracts/model-port.ts'
import {
  argumentsObject,
  argumentsText,
  InvalidModelAnswer,
  member,
  textMember,
  tokensIn,
  type Wire,
} from './model-wire.ts'

const ENDINGS: Readonly<Record<string, Ending>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
}

export const anthropic: Wire = {
  toRequest: ({ model, key }, { system, messages, tools, maxOutputTokens }) => ({
    path: 'messages',
    headers: { 'anthropic-version': '2023-06-01', ...(key === undefined ? {} : { 'x-api-key': key }) },
    body: {
      model,
      max_tokens: maxOutputTokens,
      system,
      messages: messages.map(toMessage),
      ...(tools.length === 0
        ? {}
        : {
            tools: tools.map(({ name, description, parameters }) => ({
              name,
              description,
              input_schema: parameters,
            })),
          }),
    },
  }),

  fromResponse(body) {
    const content = member(body, 'content')
    if (!Array.isArray(content)) throw new InvalidModelAnswer('no content')
    const blocks: readonly unknown[] = content
    const ofType = (type: string) => blocks.filter((block) => member(block, 'type') === type)
    return {
      text: ofType('text')
        .map((block) => textMember(block, 'text'))
        .join('\n'),
      calls: ofType('tool_use').map((block) => ({
        id: textMember(block, 'id'),
        name: textMember(block, 'name'),
        arguments: argumentsText(member(block, 'input')),
      })),
      echo: [...ofType('thinking'), ...ofType('redacted_thinking')],
      ending: ENDINGS[textMember(body, 'stop_reason')] ?? 'other',
      tokens: tokensIn(member(body, 'usage'), {
        input: 'input_tokens',
        output: 'output_tokens',
        cached: ['cache_read_input_tokens', 'cache_creation_input_tokens'],
      }),
    }
  },
}

function toMessage(message: ModelMessage): { role: string; content: readonly unknown[] } {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] }
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...message.echo,
          ...(message.text === '' ? [] : [{ type: 'text', text: message.text }]),
          ...message.calls.map((call) => ({
            type: 'tool_use',
            id: call.id,
            name: call.name,
            input: argumentsObject(call.arguments),
          })),
        ],
      }
    case 'tools':
      return {
        role: 'user',
        content: message.results.map(({ callId, text, isError }) => ({
          type: 'tool_result',
          tool_use_id: callId,
          content: text,
          is_error: isError,
        })),
      }
  }
}
