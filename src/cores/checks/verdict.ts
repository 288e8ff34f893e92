/** The verdict of a judge: one call of one tool, with one of three words. Prose is none. */
import type { ModelTool, ModelTurn } from '../../contracts/model-port.ts'
import { readJsonObject } from '../../contracts/read-json.ts'

const VERDICTS = ['pass', 'fail', 'indeterminate'] as const
type Verdict = (typeof VERDICTS)[number]

export const VERDICT_TOOL = {
  name: 'verdict',
  description: 'Record the verdict.',
  parameters: {
    type: 'object',
    properties: { verdict: { type: 'string', enum: [...VERDICTS] } },
    required: ['verdict'],
    additionalProperties: false,
  },
} as const satisfies ModelTool

/** Undefined: there is none. Some servers say `stop` where a turn ends with a call. */
export function verdictOf({ calls: [call, ...others], ending }: ModelTurn): Verdict | undefined {
  const isEnded = ending === 'tool_calls' || ending === 'stop'
  if (!call || others.length > 0 || call.name !== VERDICT_TOOL.name || !isEnded) return undefined
  const verdict = readJsonObject(call.arguments)?.['verdict']
  return VERDICTS.find((one) => one === verdict)
}
