/** Completes the arguments of prompts: the data sources that may be queried, the proposals that wait for a decision. */
import { ProtocolError, ProtocolErrorCode, type CompleteRequestParams } from '@modelcontextprotocol/server'
import type { Call } from '../src/client/http-client.ts'
import { listAskableDataSources } from '../src/contracts/data-sources.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { PAGE_MAX } from '../src/contracts/limits.ts'
import { listProposalQueue } from '../src/contracts/proposals.ts'
import type { RequestContext } from './request-context.ts'

/** MCP 2026-07-28, completion: at most so many values. */
const VALUES_MAX = 100

/** By prompt and argument. */
type Values = (context: RequestContext, call: Call, params: CompleteRequestParams) => Promise<string[]>

const VALUES: Readonly<Record<string, Readonly<Record<string, Values>>>> = {
  ask_data: { source: askableSources },
  review_proposal: {
    app: async (context, call) => (await waitingProposals(context, call)).map(({ app }) => app),
    proposal_id: async (context, call, { context: given }) => {
      const app = given?.arguments?.['app']
      const waiting = await waitingProposals(context, call)
      return waiting.filter((one) => app === undefined || one.app === app).map(({ id }) => id)
    },
  },
}

export const COMPLETED_PROMPTS = Object.keys(VALUES)

export async function completeArgument(
  context: RequestContext,
  params: CompleteRequestParams,
  signal: AbortSignal,
) {
  const { ref, argument } = params
  const prompt = ref.type === 'ref/prompt' && Object.hasOwn(VALUES, ref.name) ? VALUES[ref.name] : undefined
  if (!prompt) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'No such prompt. Call prompts/list to see them.')
  }
  const values = Object.hasOwn(prompt, argument.name) ? prompt[argument.name] : undefined
  const call = context.call({ signal })
  const all = values ? await context.inTurn(() => noneIfForbidden(values(context, call, params))) : []
  const found = [...new Set(all)].filter((value) => matches(value, argument.value))
  const shown = found.slice(0, VALUES_MAX)
  return { completion: { values: shown, total: found.length, hasMore: found.length > shown.length } }
}

/** People type the name of a database or the rest of an id, with or without its prefix. */
const matches = (id: string, typed: string): boolean =>
  [id, id.replace(/^(db|pr)_/, '')].some((name) => name.startsWith(typed.trim().toLowerCase()))

async function askableSources({ narrowing }: RequestContext, call: Call): Promise<string[]> {
  const { data_sources } = await call(listAskableDataSources, { limit: PAGE_MAX })
  return data_sources.map(({ id }) => id).filter((id) => narrowing.sources?.has(id) ?? true)
}

const waitingProposals = async ({ principal }: RequestContext, call: Call) =>
  (await call(listProposalQueue, { org_id: principal.orgId, limit: PAGE_MAX })).proposals

/** A completion is a convenience: the prompt's own call is told why. */
async function noneIfForbidden(values: Promise<string[]>): Promise<string[]> {
  try {
    return await values
  } catch (error) {
    const isClosed =
      error instanceof ServiceError && ['FORBIDDEN', 'MAINTENANCE_AGENT_NOT_FOUND'].includes(error.code)
    if (isClosed) return []
    throw error
  }
}
