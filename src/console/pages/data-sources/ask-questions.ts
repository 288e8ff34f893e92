/** Asks the questions of a form: an eval, as `svc datasource eval` makes one. */
import type * as z from 'zod'
import { readQuestions } from '../../../client/read-questions.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { askEval, startEval } from '../../../contracts/evals.ts'
import { EVAL } from '../../../contracts/limits.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { text } from '../../forms.ts'

type Answer = z.output<typeof askEval.output>['answers'][number]

export type Answered = {
  readonly eval: z.output<typeof startEval.output>
  readonly asked: number
  /** Of the questions that this form has asked. */
  readonly misses: readonly ({ readonly question: string } & Answer)[]
}

/** Where another form has stopped. */
export type Left = { readonly eval_id: string; readonly from: number }

export function leftOf(form: FormData): Left | undefined {
  const eval_id = text(form, 'eval_id')
  return eval_id === '' ? undefined : { eval_id, from: Number(text(form, 'from')) }
}

/** Whoever looks at a page waits for it no longer. */
const ASKING_MS = 20_000

export async function askQuestions(
  c: PageContext,
  source_id: string,
  written: string,
  left: Left | undefined,
): Promise<Answered> {
  const { call } = sessionOf(c)
  const questions = readQuestions(written)
  if (questions.length === 0) throw new ServiceError('INVALID_REQUEST', 'Write one question or more')
  if (questions.length > EVAL.questions) {
    throw new ServiceError('INVALID_REQUEST', `An eval has at most ${EVAL.questions} questions`, {
      hint: 'Divide them into several.',
    })
  }
  const eval_id = left?.eval_id ?? (await call(startEval, { source_id, questions: questions.length })).id
  const startedAt = performance.now()
  const misses: ({ question: string } & Answer)[] = []
  for (let from = left?.from ?? 0; ;) {
    const next = questions.slice(from, from + EVAL.perCall)
    const { eval: now, answers } = await call(askEval, { source_id, eval_id, from, questions: next })
    for (const [at, answer] of answers.entries()) {
      if (answer.missing.length > 0) misses.push({ question: next[at]!.question, ...answer })
    }
    from += answers.length
    if (from >= questions.length || performance.now() - startedAt > ASKING_MS) {
      return { eval: now, asked: from, misses }
    }
  }
}
