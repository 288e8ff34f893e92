/** As many rows as fit into a result, in their order. */
import { AGENT_LIMITS } from '../../contracts/agent-tools.ts'

/** For the names around them, and for what an answer says beside its result. */
const FRAME_BYTES = 1024

export function fitRows<Row>(
  rows: readonly Row[],
  maxBytes: number = AGENT_LIMITS.resultBytes - FRAME_BYTES,
): { rows: Row[]; truncated: boolean } {
  let left = maxBytes
  const end = rows.findIndex((row) => (left -= Buffer.byteLength(JSON.stringify(row)) + 1) < 0)
  return end === -1 ? { rows: [...rows], truncated: false } : { rows: rows.slice(0, end), truncated: true }
}

/** Of one text in a row: what is longer is cut, and says so. */
export const cutText = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`
