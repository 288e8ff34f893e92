/** One row per call, whatever became of it: sizes and keyed digests, never the question and never the answer. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import { ERRORS, ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { reportCall } from '../../contracts/activity.ts'
import type { Caller, Handler } from '../../contracts/operation.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'
import { asMember } from '../caller.ts'
import { sourceIdOf, type SourceRow } from '../databases/index.ts'
import { builtOnce } from '../built-once.ts'
import type { Clock } from '../needs.ts'

export type ActivityNeeds = { readonly db: Handle; readonly clock: Clock; readonly dataKeys: DataKeys }

/** What is known of a call while it goes on. */
export type Trace = { source?: SourceRow; name?: string; hits?: number; answer?: string }

/** Runs the work and writes down how it ended; what cannot be written down is not answered. */
export async function recordingActivity<T>(
  needs: ActivityNeeds,
  caller: Caller,
  question: string,
  work: (trace: Trace) => Promise<T>,
): Promise<T> {
  const began = needs.clock()
  const trace: Trace = {}
  let answer: T
  try {
    answer = await work(trace)
  } catch (error) {
    await recordQuestion(needs, caller, { began, question, trace, error })
    throw error
  }
  await recordQuestion(needs, caller, { began, question, trace })
  return answer
}

type Ended = { began: Date; question: string | null; trace: Trace; error?: unknown }

async function recordQuestion(
  { db, clock, dataKeys }: ActivityNeeds,
  caller: Caller,
  { began, question, trace, error }: Ended,
): Promise<void> {
  // Without a member there is no organization whose trail it could be.
  if (caller.orgId === null || caller.userId === null) return
  const code = error === undefined ? null : codeOf(error)
  // Within one organization equal questions can be told to be equal; across two they cannot.
  const digest = (text: string) =>
    keyedHash(dataKeys.keyFor('activity-digest'), `${caller.orgId}\n${text}`).slice(0, 32)
  await insertRow(db).execute({
    orgId: caller.orgId,
    id: makeId('act', began.getTime()),
    at: began.toISOString(),
    name: trace.source ? sourceIdOf(trace.source.name) : (trace.name ?? null),
    sourceId: trace.source?.id ?? null,
    userId: caller.userId,
    userName: caller.userName,
    door: caller.door === 'mcp' || caller.door === 'cli' ? caller.door : 'api',
    clientId: caller.clientId ?? null,
    outcome: outcomeOf(code),
    error: code,
    durationMs: Math.max(0, clock().getTime() - began.getTime()),
    questionBytes: question === null ? 0 : Buffer.byteLength(question),
    answerBytes: trace.answer === undefined ? 0 : Buffer.byteLength(trace.answer),
    hits: trace.hits ?? null,
    questionDigest: question === null ? null : digest(question),
    answerDigest: trace.answer === undefined ? null : digest(trace.answer),
    requestId: caller.requestId,
  })
}

/** Every column but the kind of row by name, in the order of the table. */
const insertRow = builtOnce((db) =>
  db
    .insert(activity)
    .values({
      orgId: sql.placeholder('orgId'),
      id: sql.placeholder('id'),
      at: sql`${sql.placeholder('at')}::timestamptz`,
      type: 'data_source',
      name: sql.placeholder('name'),
      sourceId: sql.placeholder('sourceId'),
      userId: sql.placeholder('userId'),
      userName: sql.placeholder('userName'),
      door: sql.placeholder('door'),
      clientId: sql.placeholder('clientId'),
      outcome: sql.placeholder('outcome'),
      error: sql.placeholder('error'),
      durationMs: sql.placeholder('durationMs'),
      questionBytes: sql.placeholder('questionBytes'),
      answerBytes: sql.placeholder('answerBytes'),
      hits: sql.placeholder('hits'),
      questionDigest: sql.placeholder('questionDigest'),
      answerDigest: sql.placeholder('answerDigest'),
      requestId: sql.placeholder('requestId'),
    })
    .prepare('record_question'),
)

const codeOf = (error: unknown): ErrorCode => (error instanceof ServiceError ? error.code : 'UNEXPECTED')

/** Refused: the caller should have asked otherwise. Failed: we could not. */
function outcomeOf(code: ErrorCode | null): 'answered' | 'refused' | 'failed' {
  if (code === null) return 'answered'
  return ERRORS[code].status < 500 ? 'refused' : 'failed'
}

/** A question that the door refused before it was read. */
export const recordRefusal =
  (needs: ActivityNeeds) =>
  (caller: Caller, error: unknown): Promise<void> =>
    recordQuestion(needs, caller, { began: needs.clock(), question: null, trace: {}, error })

/** What the MCP endpoints saw and no core did. They hold no key, so their digests are keyed here before they are kept. */
export const keepReport =
  ({ db, clock, dataKeys }: ActivityNeeds): Handler<typeof reportCall> =>
  async (who, { name, outcome, error, duration_ms, ...seen }) => {
    const caller = asMember(who)
    if (caller.kind !== 'actor') {
      throw new ServiceError('FORBIDDEN', 'Only the MCP endpoints report what they did')
    }
    const digest = (sha256: string | undefined) =>
      sha256 === undefined
        ? null
        : keyedHash(dataKeys.keyFor('activity-digest'), `${caller.orgId}\n${sha256}`).slice(0, 32)
    const at = new Date(clock().getTime() - duration_ms)
    await db.insert(activity).values({
      orgId: caller.orgId,
      id: makeId('act', at.getTime()),
      at,
      type: 'function',
      name,
      userId: caller.userId,
      userName: caller.userName,
      door: 'mcp',
      clientId: caller.clientId ?? null,
      outcome,
      error: error ?? null,
      durationMs: duration_ms,
      questionBytes: seen.question_bytes,
      answerBytes: seen.answer_bytes,
      questionDigest: digest(seen.question_sha256),
      answerDigest: digest(seen.answer_sha256),
      requestId: caller.requestId,
    })
    return {}
  }
