/** `svc datasource eval`: asks questions whose answers are known, and says how many were found and what came instead. */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { readQuestions, type Question } from '../../client/read-questions.ts'
import { BODY_MAX_BYTES, EVAL } from '../../contracts/limits.ts'
import type { Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { patiently } from '../load/upload-file.ts'
import { argument, isSet } from '../options.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { usageError } from '../usage-error.ts'

type Eval = Output<'startEval'>
type Answer = Output<'askEval'>['answers'][number]
type Miss = { readonly question: string } & Answer

export const evaluateDataSource: Run = async (ctx, input) => {
  const source_id = argument(input, 'source_id')
  const questions = questionsIn(resolve(ctx.environment.cwd, argument(input, 'file')))
  const { eval: finished, answers } = await askAll(ctx, source_id, questions)
  const misses = answers.flatMap((answer, at) =>
    answer.missing.length === 0 ? [] : [{ question: questions[at]!.question, ...answer }],
  )
  const text = textOf(finished, misses, answers.filter(({ weak }) => weak).length)
  const { thresholds } = isSet(input, 'set-threshold')
    ? await ctx.callOperation('setThreshold', { source_id, eval_id: finished.id }).catch((error: unknown) => {
        // The eval was made all the same. What failed leaves stdout to programs.
        ctx.environment.stderr.write(text)
        throw error
      })
    : {}
  ctx.print({ eval: finished, misses, ...(thresholds && { thresholds }) }, { text })
  for (const { target, score } of thresholds ?? []) {
    ctx.info(`Answers from ${target} are marked as weak below a score of ${score}`)
  }
}

/** Ten times what all questions may take together. */
const FILE_MAX_BYTES = 10 * BODY_MAX_BYTES

function questionsIn(path: string): Question[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found?.isFile()) throw usageError(`There is no file ${path}`, 'Name the file that has the questions.')
  if (found.size > FILE_MAX_BYTES) throw tooMany()
  const questions = readQuestions(readFileSync(path, 'utf8'))
  if (questions.length === 0) throw usageError(`There are no questions in ${path}`, 'Write one or more.')
  if (questions.length > EVAL.questions) throw tooMany()
  return questions
}

const tooMany = () =>
  usageError(`An eval has at most ${EVAL.questions} questions`, 'Divide the file into several.')

async function askAll(ctx: CommandContext, source_id: string, questions: readonly Question[]) {
  const progress = progressLine(ctx, questions.length)
  try {
    let now = await ctx.callOperation('startEval', { source_id, questions: questions.length })
    const answers: Answer[] = []
    // Not by `asked`: what the server counted, and could not say, is answered again.
    while (answers.length < questions.length) {
      const from = answers.length
      progress.show(from)
      const next = questions.slice(from, from + EVAL.perCall)
      const asked = await patiently(ctx, () =>
        ctx.callOperation('askEval', { source_id, eval_id: now.id, from, questions: next }),
      )
      answers.push(...asked.answers)
      now = asked.eval
    }
    return { eval: now, answers }
  } finally {
    progress.end()
  }
}

function progressLine({ settings, environment }: CommandContext, all: number) {
  const isLive = settings.interactive && settings.color
  return {
    show: (asked: number) => isLive && environment.stderr.write(`\r\u001b[KAsking ${asked} of ${all}`),
    end: () => isLive && environment.stderr.write('\r\u001b[K'),
  }
}

function textOf({ id, questions, recall_at_5, mrr }: Eval, misses: readonly Miss[], weak: number): string {
  const counted = (count: number) => `${count} ${count === 1 ? 'question' : 'questions'}`
  const lines = [
    `${id}: ${counted(questions)}, recall@5 ${shown(recall_at_5)}, MRR ${shown(mrr)}`,
    ...(weak > 0 ? [`${counted(weak)} with a weak answer`] : []),
    ...(misses.length > 0 ? [`${counted(misses.length)} with something missing:`] : []),
    ...misses.flatMap(missLines),
  ]
  return `${lines.join('\n')}\n`
}

const shown = (number: number | null): string => (number === null ? '-' : number.toFixed(3))

const missLines = ({ question, missing, hits }: Miss): string[] => [
  '',
  `  ${sanitizeLine(question)}`,
  `    missing: ${missing.map(sanitizeLine).join(', ')}`,
  ...(hits.length === 0 ? ['    nothing came instead'] : []),
  ...hits.map(
    ({ id, title, path, heading, score }, at) =>
      `    ${at + 1}. ${sanitizeLine(path === undefined ? `${id}  ${title ?? ''}` : `${path}#${heading ?? ''}`)}${score === null ? '' : `  ${score.toFixed(3)}`}`,
  ),
]
