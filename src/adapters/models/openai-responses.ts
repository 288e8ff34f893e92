/** OpenAI's Responses API, without anything stored there: encrypted reasoning goes back with the next request. */
import type { ModelMessage } from '../../contracts/model-port.ts'
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

export const openAiResponses: Wire = {
  toRequest: ({ model, key }, { system, messages, tools, maxOutputTokens }) => ({
    path: 'responses',
    headers: bearer(key),
    body: {
      model,
      instructions: system,
      input: messages.flatMap(toItems),
      max_output_tokens: maxOutputTokens,
      store: false,
      include: ['reasoning.encrypted_content'],
      ...(tools.length === 0
        ? {}
        : { tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })) }),
    },
  }),

  fromResponse(body) {
    const output = member(body, 'output')
    if (!Array.isArray(output)) throw new InvalidModelAnswer('no output')
    const items: readonly unknown[] = output
    const ofType = (type: string) => items.filter((item) => member(item, 'type') === type)
    const calls = ofType('function_call').map((item) => ({
      id: textMember(item, 'call_id'),
      name: textMember(item, 'name'),
      arguments: argumentsText(member(item, 'arguments')),
    }))
    return {
      text: ofType('message')
        .flatMap((item) => listMember(item, 'content'))
        .filter((part) => member(part, 'type') === 'output_text')
        .map((part) => textMember(part, 'text'))
        .join('\n'),
      calls,
      echo: ofType('reasoning'),
      ending: endingOf(body, calls.length > 0),
      tokens: tokensIn(member(body, 'usage'), { input: 'input_tokens', output: 'output_tokens' }),
    }
  },
}

function endingOf(body: unknown, hasCalls: boolean) {
  const status = textMember(body, 'status')
  if (status === 'completed') return hasCalls ? 'tool_calls' : 'stop'
  const reason = textMember(member(body, 'incomplete_details'), 'reason')
  return status === 'incomplete' && reason === 'max_output_tokens' ? 'length' : 'other'
}

function toItems(message: ModelMessage): readonly unknown[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: [{ type: 'input_text', text: message.text }] }]
    case 'assistant':
      return [
        ...message.echo,
        ...(message.text === ''
          ? []
          : [{ role: 'assistant', content: [{ type: 'output_text', text: message.text }] }]),
        ...message.calls.map((call) => ({
          type: 'function_call',
          call_id: call.id,
          name: call.name,
          arguments: call.arguments,
        })),
      ]
    case 'tools':
      return message.results.map(({ callId, text }) => ({
        type: 'function_call_output',
        call_id: callId,
        output: text,
      }))
  }
}
