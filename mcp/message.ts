/** The message of a request, before the SDK sees it. */
import { readRequestBody } from '@modelcontextprotocol/server'
import { BODY_MAX_BYTES } from '../src/contracts/limits.ts'
import { isKnownToFit } from '../src/contracts/known-to-fit.ts'
import { readJson } from '../src/contracts/read-json.ts'

export type Message = {
  readonly text: string
  /** Undefined when it is not JSON: the SDK answers that. */
  readonly json: unknown
  readonly isTooLarge: boolean
}

export async function readMessage(request: Request): Promise<Message> {
  const body = isKnownToFit(request, BODY_MAX_BYTES)
    ? { tooLarge: false as const, text: await request.text() }
    : await readRequestBody(request, BODY_MAX_BYTES)
  if (body.tooLarge) return { text: '', json: undefined, isTooLarge: true }
  return { text: body.text, json: readJson(body.text), isTooLarge: false }
}

/** No message of ours needs more; beyond a few thousand, reading one overflows the stack. */
const DEPTH_MAX = 32

/** Not by recursion, for the same reason. */
export function isTooDeep(json: unknown): boolean {
  let level = [json]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return true
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'object' && value !== null)
        for (const inner of Object.values(value)) next.push(inner)
    }
    level = next
  }
  return false
}
