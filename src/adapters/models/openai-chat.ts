/** Chat Completions, as OpenAI made them and most local servers and gateways speak them. */
import type { Ending, ModelMessage } from '../../contracts/model-port.ts'
import {
  argumentsText,
  bearer,
  InvalidModelAnswer,
  listMember,
  member,
  textMember,
  tokensIn,
  type Wire,
} from './model-wire.ts'

const ENDINGS: Readonly<Record<string, Ending>> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
}

export const openAiChat: Wire = {
  toRequest: ({ model, key, outputLimitField }, { system, messages, tools, maxOutputTokens }) => ({
    path: 'chat/completions',
    headers: bearer(key),
    body: {
      model,
      messages: [{ role: 'system', content: system }, ...messages.flatMap(toMessages)],
      [outputLimitField]: maxOutputTokens,
      ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    },
  }),

  fromResponse(body) {
    const [choice] = listMember(body, 'choices')
    const message = member(choice, 'message')
    if (typeof message !== 'object' || message === null) throw new InvalidModelAnswer('no message')
    return {
      text: textMember(message, 'content'),
      calls: listMember(message, 'tool_calls').map((call) => ({
        id: textMember(call, 'id'),
        name: textMember(member(call, 'function'), 'name'),
        arguments: argumentsText(member(member(call, 'function'), 'arguments')),
      })),
      echo: [],
      ending: ENDINGS[textMember(choice, 'finish_reason')] ?? 'other',
      tokens: tokensIn(member(body, 'usage'), { input: 'prompt_tokens', output: 'completion_tokens' }),
    }
  },
}

function toMessages(message: ModelMessage): readonly unknown[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.text }]
    case 'assistant':
      return [
        {
          role: 'assistant',
          content: message.text === '' ? null : message.text,
          ...(message.calls.length === 0
            ? {}
            : {
                tool_calls: message.calls.map((call) => ({
                  id: call.id,
                  type: 'function',
                  function: { name: call.name, arguments: call.arguments },
                })),
              }),
        },
      ]
    case 'tools':
      return message.results.map(({ callId, text }) => ({
        role: 'tool',
        tool_call_id: callId,
        content: text,
      }))
  }
}
