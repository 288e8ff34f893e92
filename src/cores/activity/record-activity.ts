/** One row per call, whatever became of it: sizes and keyed digests, never the question and never the answer. */
import type { Handle } from '../../../db/connect.ts'
import { ERRORS, ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { Scope } from '../../contracts/scopes.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'
import { sourceIdOf, type SourceRow } from '../databases/index.ts'
import type { Clock } from '../dependencies.ts'
import { insertActivity, type Use } from './insert-activity.ts'

export type ActivityDeps = { readonly db: Handle; readonly clock: Clock; readonly dataKeys: DataKeys }

/** What is known of a call so far. */
export type Trace = {
  source?: SourceRow
  /** Of a search over several: those without which its answer would be another. */
  sources?: readonly SourceRow[]
  name?: string
  hits?: number
  answer?: string
}

/** Runs the work and records how it ended; a call that cannot be recorded is not answered. */
export async function recordingActivity<T>(
  deps: ActivityDeps,
  principal: Principal,
  question: string,
  work: (trace: Trace) => Promise<T>,
): Promise<T> {
  const began = deps.clock()
  const trace: Trace = {}
  let answer: T
  try {
    answer = await work(trace)
  } catch (error) {
    await recordCall(deps, principal, { began, question, trace, error })
    throw error
  }
  await recordCall(deps, principal, { began, question, trace })
  return answer
}

type Call = { began: Date; question: string | null; trace: Trace; error?: unknown }

async function recordCall(
  { db, clock, dataKeys }: ActivityDeps,
  principal: Principal,
  { began, question, trace, error }: Call,
): Promise<void> {
  // Activity belongs to an organization, so a call outside of one leaves none.
  if (principal.orgId === null || principal.userId === null) return
  const code = error === undefined ? null : errorCode(error)
  // Equal questions have equal digests within one organization, never across two.
  const digest = (text: string) =>
    keyedHash(dataKeys.keyFor('activity-digest'), `${principal.orgId}\n${text}`).slice(0, 32)
  const outcome = outcomeOf(code)
  const row = {
    type: 'data_source' as const,
    orgId: principal.orgId,
    id: makeId('act', began.getTime()),
    at: began,
    name: trace.source ? sourceIdOf(trace.source.name) : (trace.name ?? null),
    sourceId: trace.source?.id ?? null,
    userId: principal.userId,
    userName: principal.userName,
    entryPoint:
      principal.entryPoint === 'mcp' || principal.entryPoint === 'cli'
        ? principal.entryPoint
        : ('api' as const),
    clientId: principal.clientId ?? null,
    clientName: principal.clientName ?? null,
    grantId: principal.grantId ?? null,
    outcome,
    error: code,
    durationMs: Math.max(0, clock().getTime() - began.getTime()),
    questionBytes: question === null ? 0 : Buffer.byteLength(question),
    answerBytes: trace.answer === undefined ? 0 : Buffer.byteLength(trace.answer),
    hits: trace.hits ?? null,
    questionDigest: question === null ? null : digest(question),
    answerDigest: trace.answer === undefined ? null : digest(trace.answer),
    requestId: principal.requestId,
  }
  await insertActivity(db, row, outcome === 'refused' ? [] : usesOf(trace))
}

/** Of every operation that leaves activity of this kind, and of the tools that call one: mcp/tools.test.ts. */
const QUESTION_SCOPE: Scope = 'data:read'

function usesOf({ source, sources = [] }: Trace): Use[] {
  const asked = source ? [source] : sources
  if (asked.length === 0) return [{ scope: QUESTION_SCOPE, sourceId: '' }]
  return asked.map(({ id }) => ({ scope: QUESTION_SCOPE, sourceId: id }))
}

const errorCode = (error: unknown): ErrorCode => (error instanceof ServiceError ? error.code : 'UNEXPECTED')

/** Refused: the client made a mistake. Failed: we did. */
function outcomeOf(code: ErrorCode | null): 'answered' | 'refused' | 'failed' {
  if (code === null) return 'answered'
  return ERRORS[code].status < 500 ? 'refused' : 'failed'
}

/** A call that was refused before its verb was reached. */
export const recordRefusal =
  (deps: ActivityDeps) =>
  (principal: Principal, error: unknown): Promise<void> =>
    recordCall(deps, principal, { began: deps.clock(), question: null, trace: {}, error })
