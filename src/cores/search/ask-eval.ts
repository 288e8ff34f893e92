import { and, desc, eq, inArray, isNotNull, isNull } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { evals } from '../../../db/schema.ts'
import type { Hit } from '../../contracts/data-sources.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { EvalQuestion } from '../../contracts/evals.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import {
  EVAL,
  EVAL_HITS,
  EVAL_QUESTIONS_PER_ORGANIZATION,
  EVAL_QUESTIONS_PER_PERSON,
} from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordingActivity } from '../activity/index.ts'
import type { SourceRow } from '../databases/index.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { throttle } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'
import { createTurns } from '../work/index.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { changesBetween, isEvalOf, newestEval, presentEval, type EvalRow } from './eval-rows.ts'
import { judgeHits, type Judged } from './expected-rows.ts'
import { mergeHits } from './merge-hits.ts'
import { search } from './query-data-source.ts'
import type { SearchDeps } from './search-entries.ts'
import { isWeak } from './threshold.ts'

const turns = createTurns(FAIR_QUEUES.evals)

type Asked = Judged & { readonly hits: readonly Hit[]; readonly weak: boolean }

/** With the rights of each moment: every call finds the source, the role and the rows anew. */
export const askEval =
  (deps: SearchDeps): Handler<'askEval'> =>
  (principal, { source_id, eval_id, from, questions }) => {
    const all = questions.map(({ question }) => question).join('\n')
    return recordingActivity(deps, principal, all, async (trace) => {
      const member = requireMember(principal)
      const { source } = await findAskable(deps.db, member, source_id)
      trace.source = source
      requireMinimumRole(member, source)
      const find = () => findEval(deps, source, member, eval_id, { from, count: questions.length })
      await find()
      const work = async () => {
        // Another call of this eval may have had its turn meanwhile.
        const begun = await find()
        const again = begun.asked - from
        const next = again > 0 ? questions.slice(0, again) : questions
        const asked = await askAll(deps, member, source, from, next)
        const recorded =
          again > 0
            ? begun
            : await withTransaction(deps.db, (tx) => record(tx, deps.clock(), source, begun, asked))
        // Counted by another process meanwhile: what that counted is answered here as well.
        const row = recorded ?? (await find())
        return { row, asked: asked.slice(0, row.asked - from) }
      }
      const keys = [member.orgId, member.userId]
      const { row, asked } = await turns.take(keys, work, { signal: principal.signal })
      const answer = { eval: presentEval(row, source), answers: asked.map(presentAnswer) }
      trace.hits = asked.reduce((sum, { hits }) => sum + hits.length, 0)
      trace.answer = JSON.stringify(answer)
      return answer
    })
  }

type Place = { readonly from: number; readonly count: number }

/** Somebody else's does not exist: its questions are asked with their rights. */
async function findEval(
  { db }: SearchDeps,
  source: SourceRow,
  { userId }: MemberPrincipal,
  id: string,
  place: Place,
): Promise<EvalRow> {
  const [found] = await db
    .select()
    .from(evals)
    .where(and(isEvalOf(source), eq(evals.id, id), eq(evals.createdBy, userId)))
  if (!found) throw notFound()
  checkPlace(found, source, place)
  return found
}

/** What was asked may be asked again: the answer was lost with a process, and the client knows its numbers only. */
function checkPlace(begun: EvalRow, source: SourceRow, { from, count }: Place): void {
  if (begun.finishedAt !== null && from >= begun.asked) {
    throw new ServiceError('CONFLICT', 'This eval has finished')
  }
  if (begun.configuredAt?.getTime() !== source.configuredAt?.getTime()) {
    throw new ServiceError('CONFLICT', 'The search configuration was changed since this eval began', {
      hint: 'Begin another one.',
    })
  }
  if (from > begun.asked) {
    throw new ServiceError('CONFLICT', `${begun.asked} questions of this eval were asked already`, {
      hint: 'Begin another one, or go on from there.',
    })
  }
  if (from + count > begun.questions) {
    throw new ServiceError('INVALID_REQUEST', undefined, {
      problems: [`questions: must not be more than the ${begun.questions - from} that are left`],
    })
  }
}

/** One after the other, for some seconds: what is left is for the next call, when others had their turn. */
async function askAll(
  deps: SearchDeps,
  member: MemberPrincipal,
  source: SourceRow,
  from: number,
  questions: readonly EvalQuestion[],
): Promise<readonly Asked[]> {
  const until = deps.clock().getTime() + EVAL.callMs
  const asked: Asked[] = []
  for (const [at, question] of questions.entries()) {
    if (at > 0 && (member.signal?.aborted || deps.clock().getTime() > until)) break
    try {
      asked.push(await askOne(deps, member, source, question))
    } catch (error) {
      // What was asked counts. The next call says what is wrong with this one.
      if (asked.length > 0) break
      throw naming(error, from + at + 1)
    }
  }
  return asked
}

async function askOne(
  deps: SearchDeps,
  member: MemberPrincipal,
  source: SourceRow,
  { question, expect, target, filters }: EvalQuestion,
): Promise<Asked> {
  const key = `questions of evals of ${member.orgId}`
  await throttle(deps, `${key} by ${member.userId}`, EVAL_QUESTIONS_PER_PERSON)
  await throttle(deps, key, EVAL_QUESTIONS_PER_ORGANIZATION)
  const top_k = EVAL_HITS.searched
  const lists = await search(deps, member, source, { query: question, target, filters, top_k })
  const hits = mergeHits(lists, top_k)
  return { ...judgeHits(expect, hits), hits, weak: isWeak(hits, () => source) }
}

/** Which one has a filter that is not allowed, or a target that is not there. */
function naming(error: unknown, number: number): unknown {
  if (!(error instanceof ServiceError) || !['INVALID_REQUEST', 'FILTER_NOT_ALLOWED'].includes(error.code)) {
    return error
  }
  const { code, message, hint, problems, cause } = error
  return new ServiceError(code, `Question ${number}: ${message}`, {
    ...(hint !== undefined && { hint }),
    ...(problems && { problems }),
    cause,
  })
}

/** Undefined: at once with another one, whose numbers count. */
async function record(
  tx: Transaction,
  now: Date,
  source: SourceRow,
  begun: EvalRow,
  answers: readonly Asked[],
): Promise<EvalRow | undefined> {
  const asked = begun.asked + answers.length
  const isDone = asked === begun.questions
  const before = isDone ? await newestEval(tx, source) : undefined
  const [row] = await tx
    .update(evals)
    .set({
      asked,
      totals: addedUp(begun, answers),
      scores: [...begun.scores, ...answers.flatMap(({ scores }) => scores)],
      ...(isDone && { finishedAt: now, changes: before ? changesBetween(before, begun) : [] }),
    })
    .where(
      and(isEvalOf(source), eq(evals.id, begun.id), eq(evals.asked, begun.asked), isNull(evals.finishedAt)),
    )
    .returning()
  if (row && isDone) await dropOldest(tx, source)
  return row
}

function addedUp({ totals }: EvalRow, answers: readonly Asked[]): EvalRow['totals'] {
  const answerable = answers.filter(({ recall }) => recall !== null)
  return {
    answerable: totals.answerable + answerable.length,
    recall: answerable.reduce((sum, { recall }) => sum + recall!, totals.recall),
    reciprocal: answerable.reduce((sum, { rank }) => sum + (rank === null ? 0 : 1 / rank), totals.reciprocal),
  }
}

async function dropOldest(tx: Transaction, source: SourceRow): Promise<void> {
  const old = tx
    .select({ id: evals.id })
    .from(evals)
    .where(and(isEvalOf(source), isNotNull(evals.finishedAt)))
    .orderBy(desc(evals.id))
    .offset(EVAL.kept)
  await tx.delete(evals).where(and(isEvalOf(source), inArray(evals.id, old)))
}

const presentAnswer = ({ rank, missing, hits, weak }: Asked) => ({
  rank,
  missing: [...missing],
  hits: hits.slice(0, EVAL_HITS.recall).map(({ id, title, metadata }) => ({
    id,
    title: title === null ? null : title.slice(0, TITLE_CHARACTERS),
    target: String(metadata['_target']),
    score:
      typeof metadata['_score'] === 'number' && !Number.isNaN(metadata['_score']) ? metadata['_score'] : null,
    ...(typeof metadata['path'] === 'string' && typeof metadata['heading'] === 'string'
      ? { path: metadata['path'], heading: metadata['heading'] }
      : {}),
  })),
  ...(weak && { weak: true as const }),
})

/** A title may be any column. */
const TITLE_CHARACTERS = 200
