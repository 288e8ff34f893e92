/** Completes the argument `source` of the prompt `ask_data`: the data sources that this credential may query. */
import { ProtocolError, ProtocolErrorCode, type CompleteRequestParams } from '@modelcontextprotocol/server'
import { listAskableDataSources } from '../src/contracts/data-sources.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { PAGE_MAX } from '../src/contracts/limits.ts'
import type { RequestContext } from './request-context.ts'

/** MCP 2026-07-28, completion: at most so many values. */
const VALUES_MAX = 100

export async function completeArgument(
  { call, narrowing, inTurn }: RequestContext,
  { ref, argument }: CompleteRequestParams,
  signal: AbortSignal,
) {
  if (ref.type !== 'ref/prompt' || ref.name !== 'ask_data') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'No such prompt. Call prompts/list to see them.')
  }
  const all = argument.name === 'source' ? await inTurn(() => askableSources(call({ signal }))) : []
  const found = all.filter((id) => matches(id, argument.value) && (narrowing.sources?.has(id) ?? true))
  const values = found.slice(0, VALUES_MAX)
  return { completion: { values, total: found.length, hasMore: found.length > values.length } }
}

/** People type the name of a database, with or without what makes it the id of a source. */
const matches = (id: string, typed: string): boolean =>
  [id, id.replace(/^db_/, '')].some((name) => name.startsWith(typed.trim().toLowerCase()))

/** None where they may not be listed: a completion is a convenience, and the question itself is told why. */
async function askableSources(call: ReturnType<RequestContext['call']>): Promise<string[]> {
  try {
    const { data_sources } = await call(listAskableDataSources, { limit: PAGE_MAX })
    return data_sources.map(({ id }) => id)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'FORBIDDEN') return []
    throw error
  }
}
