/** Rows about evals for the table of every command and every exit code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Call } from '../../src/client/http-client.ts'
import { askEval, startEval } from '../../src/contracts/evals.ts'
import type { Row } from './notification-rows.ts'

/** Files of questions, in a folder that is empty. */
export function makeQuestionFiles(folder: string): Record<string, string> {
  const [questions, badquestions] = ['questions.yaml', 'bad.yaml'].map((name) => join(folder, name))
  const question = '- question: May I work from Spain for a month?\n'
  writeFileSync(questions!, `${question}  expect: work-from-abroad\n${question}  expect: [moon]\n`)
  writeFileSync(badquestions!, `${question}  expect: [a\n`)
  return { questions: questions!, badquestions: badquestions! }
}

/** One that a threshold can be set from. */
export async function makeEval(call: Call): Promise<Record<string, string>> {
  const source_id = 'db_sample'
  const question = { question: 'May I work from Spain for a month?', expect: ['work-from-abroad'] }
  const { id: eval_id } = await call(startEval, { source_id, questions: 5 })
  for (let from = 0; from < 5; from++) {
    await call(askEval, { source_id, eval_id, from, questions: [question] })
  }
  return { eval: eval_id }
}

const NO_EVAL = 'evl_0mwhkcyh5nlh1pqqssy5gj19q'

export const EVAL_ROWS: Row[] = [
  [
    'datasource eval db_sample {questions}',
    0,
    /^evl_\w+: 2 questions, recall@5 0\.500, MRR 0\.500\n1 question with something missing:\n\n {2}May I work from Spain[^\n]*\n {4}missing: moon\n {4}1\. work-from-abroad {2}/,
  ],
  ['datasource eval db_sample {questions} --json', 0, /"misses": \[[^]*"missing": \[\s*"moon"/],
  // What is missing is shown all the same.
  [
    'datasource eval db_sample {questions} --set-threshold',
    6,
    /1 question with something missing:[^]* missing: moon\n[^]*needs at least 5 questions/,
  ],
  ['datasource eval db_sample {badquestions}', 5, /Line \d: This is not YAML\.[^]*- question: /],
  ['datasource eval db_sample {questions}/nowhere', 5, /There is no file/],
  ['datasource eval db_nothing {questions}', 4, /svc datasource list/],
  ['datasource eval db_sample {questions} --context ro', 3, /requires the role developer/],
  [
    'datasource evals db_sample',
    0,
    /^EVAL +QUESTIONS +RECALL@5 +MRR +CHANGED +BY +FINISHED[^]*\n\{eval\} +5 +1 +1 /,
  ],
  ['datasource evals db_sample --limit x', 5, /Invalid value for --limit: x/],
  ['datasource evals db_nothing', 4, /Not found/],
  ['datasource evals db_sample --context ro', 3, /requires the role developer/],
  ['datasource threshold set db_sample {eval}', 0, /^TARGET +SCORE\n\w+ +0\.\d+/],
  // The other table has no threshold.
  [
    'datasource query db_sample "the moons of Jupiter" --target handbook -o table',
    0,
    /The answer is weak: probably none/,
  ],
  [`datasource threshold set db_sample ${NO_EVAL}`, 4, /Not found/],
  ['datasource threshold set db_sample nonsense', 5, /must look like evl_/],
  ['datasource threshold set db_sample {eval} --context ro', 3, /requires the role developer/],
  ['datasource threshold remove db_sample --context ro', 3, /requires the role developer/],
  ['datasource threshold remove db_nothing', 4, /Not found/],
  ['datasource threshold remove', 5, /requires <source_id>/],
  ['datasource threshold remove db_sample', 0, /Answers are no longer marked as weak/],
]

/** A line for every command that calls the server. */
export const EVAL_LINES = [
  'datasource eval db_sample {questions}',
  'datasource evals db_sample',
  'datasource threshold set db_sample {eval}',
  'datasource threshold remove db_sample',
]

const CHANGED = 'needs a source that is configured anew meanwhile: test/walks/ask-a-source.test.ts'

export const EVAL_UNTRIED = {
  'datasource threshold set': { exits: [6], because: CHANGED },
  'datasource threshold remove': { exits: [6], because: 'there is nothing that it could conflict with' },
}
