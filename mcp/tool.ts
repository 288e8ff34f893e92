/** What every tool does alike: a published input, a compact answer, and failures in words that are ours. */
import type { CallToolResult, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { Call } from '../src/client/call.ts'
import { ERRORS, ServiceError } from '../src/contracts/errors.ts'

/** What a tool works with during one call. */
export type Workplace = {
  /** The gateway, on behalf of whoever the agent acts for. */
  call: Call
  /** For failures that the answer must not describe. */
  report: (tool: string, error: unknown) => void
}

/** Converted once: the server is made anew for every request, and converting would be most of that work. */
export function published<Input extends z.ZodObject>(
  input: Input,
): StandardSchemaWithJSON<z.input<Input>, z.output<Input>> {
  const json = z.toJSONSchema(input, { target: 'draft-2020-12', io: 'input' })
  const { validate } = input['~standard']
  return {
    '~standard': {
      version: 1,
      vendor: 'zod',
      validate,
      jsonSchema: { input: () => json, output: () => json },
    },
  }
}

/** An agent reads every word and may act on it, so text from elsewhere, an exception's say, never gets into an answer. */
export async function answering(
  tool: string,
  { report }: Workplace,
  work: () => Promise<unknown>,
): Promise<CallToolResult> {
  try {
    return { content: [{ type: 'text', text: JSON.stringify(await work()) }] }
  } catch (error) {
    const isOurs = error instanceof ServiceError && error.code !== 'UNEXPECTED'
    if (!isOurs) report(tool, error)
    const text = isOurs ? sentenceOf(error) : `UNEXPECTED: ${ERRORS.UNEXPECTED.says}`
    return { content: [{ type: 'text', text }], isError: true }
  }
}

const sentenceOf = ({ code, message, hint }: ServiceError): string =>
  `${code}: ${hint === undefined ? message : `${message}. ${hint}`}`
