/** The Quality tab of a data source: how its evals went, what changed between them, and the threshold learned from one. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ServiceError } from '../../../contracts/errors.ts'
import { listEvals, setThreshold, type EvalChange } from '../../../contracts/evals.ts'
import { areaField, button, card, notice } from '../../../pages/parts.ts'
import { STRIP_HEIGHT, stripHeight, stripOfBars } from '../../../pages/strip.ts'
import { copyable, emptyState, exactTime, stats, table } from '../../components.ts'
import { createRoutes, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { act } from '../../act.ts'
import { attempt, form, formCard, statusOf, text } from '../../forms.ts'
import { plural } from '../../format.ts'
import { askQuestions, leftOf, type Answered } from './ask-questions.ts'
import { pathOf, sourceIdFrom, type Source } from './source-labels.ts'
import { readSource, sourceTab, tabPath } from './source-tabs.ts'

export const sourceQualityRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id/quality', (c) => showQuality(c))
    .post('/data-sources/:source_id/evals', runEval)
    .post('/data-sources/:source_id/threshold', changeThreshold)

type Listed = z.output<typeof listEvals.output>
type Eval = Listed['evals'][number]

const EXAMPLE = `- question: How many days of holiday do I have?
  expect: [holidays.md#Paid leave]
- question: Who repairs the elevator on the moon?
  expect: []`

/** As many bars as fit a phone. */
const SHOWN = 40

type Ran = {
  readonly written: string
  readonly problem?: ServiceError | undefined
  readonly answered?: Answered | undefined
}

async function showQuality(c: PageContext, ran?: Ran) {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  const source = await readSource(c)
  const listed = await sessionOf(c).call(listEvals, { source_id: source.source_id, limit: SHOWN })
  return sourceTab(c, source, 'quality', {
    status: statusOf(ran?.problem),
    body: html`${ran?.answered && answeredCard(c, source, ran.written, ran.answered)}
      ${evalsCard(source, listed)} ${source.enabled && source.exposed && questionsCard(c, source, ran)}
      ${thresholdCard(c, source, listed)}`,
  })
}

/** As whoever runs it, one question after the other: what is left after some seconds is asked by another click. */
async function runEval(c: PageContext) {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  const fields = c.get('form')
  const file = fields.get('file')
  const written = file instanceof File && file.size > 0 ? await file.text() : text(fields, 'questions')
  const left = leftOf(fields)
  const result = await attempt(() => askQuestions(c, sourceIdFrom(c), written, left))
  return 'problem' in result
    ? showQuality(c, { written, problem: result.problem })
    : showQuality(c, { written, answered: result.done })
}

const questionsCard = (c: PageContext, { source_id }: Source, ran: Ran | undefined) =>
  formCard(c, {
    title: 'Run an eval',
    lead: 'They are asked as you, and not kept.',
    action: `${pathOf(source_id)}/evals`,
    isUpload: true,
    problem: ran?.problem,
    fields: html`${areaField({
      name: 'questions',
      label: 'Questions, each with the rows that answer it',
      rows: 6,
      value: ran?.problem ? ran.written : '',
      placeholder: EXAMPLE,
    })}
      <div class="field">
        <label for="questions-file">Or a file of them</label>
        <input class="file-drop" type="file" id="questions-file" name="file" accept=".yaml,.yml,.json" />
      </div>`,
    submit: 'Run',
  })

function answeredCard(c: PageContext, { source_id }: Source, written: string, answered: Answered) {
  const {
    eval: { id, questions, recall_at_5, mrr },
    asked,
    misses,
  } = answered
  const isDone = asked === questions
  const missed = table(
    'Questions with something missing',
    ['Question', 'Missing', 'What came instead'],
    misses.map(({ question, missing, hits }) => [
      question,
      missing.join(', '),
      hits.length === 0
        ? 'Nothing'
        : hits.map(
            ({ id: row, title, path, heading }, at) =>
              html`${at > 0 && html`<br />`}${at + 1}. ${path === undefined ? `${row} ${title ?? ''}` : `${path}#${heading ?? ''}`}`,
          ),
    ]),
  )
  return card(
    isDone ? 'This eval' : `${asked} of ${plural(questions, 'question')} asked`,
    html`${isDone && html`<p>${plural(questions, 'question')}, recall@5 ${percent(recall_at_5)}, MRR ${shown(mrr)}.</p>`}
      ${misses.length === 0 ? html`<p>Nothing is missing.</p>` : missed}
      ${
        !isDone &&
        form(
          c,
          `${pathOf(source_id)}/evals`,
          html`<input type="hidden" name="eval_id" value="${id}" /><input type="hidden" name="from" value="${asked}" />
            <textarea name="questions" hidden>
${written}</textarea>${button('Ask the rest')}`,
        )
      }`,
  )
}

function evalsCard({ source_id }: Source, { evals, changes_since }: Listed) {
  const [newest] = evals
  const command = copyable(
    'eval',
    `svc datasource eval ${source_id} questions.yaml`,
    'Command that runs an eval',
  )
  if (!newest) {
    return card(
      'Evals',
      html`${emptyState('No evals yet', 'Write questions down with the rows that answer them, and see how many are found.')}
        ${command}
        ${copyable('questions', EXAMPLE, 'Example of questions.yaml')}`,
    )
  }
  return html`${
    changes_since.length > 0 && notice('info', html`<p>${sentenceOf(changes_since)} since the last eval.</p>`)
  }
  ${stats('Last eval', [
    {
      label: 'Recall@5',
      value: percent(newest.recall_at_5),
      note: 'of the expected rows are among the first five hits',
    },
    { label: 'MRR', value: shown(newest.mrr), note: '1 where the first hit is always an expected one' },
    { label: 'Questions', value: newest.questions },
  ])}
  ${card(
    'Evals',
    html`${seriesOf(evals.toReversed())}
      <p class="note">Recall@5 of each eval, the newest on the right. Dotted: something had changed since the one before.</p>
      ${table('Evals, newest first', ['Finished', 'Recall@5', 'MRR', 'Questions', 'Rows', 'Changed before it', 'By'], evals.map(cellsOf))}
      <p class="note">What is found depends on which rows the person sees. Questions and hits are not kept.</p>
      ${command}`,
  )}`
}

const seriesOf = (evals: readonly Eval[]) =>
  stripOfBars(
    `Recall@5 of the last ${plural(evals.length, 'eval')}, oldest first: ${evals.map(({ recall_at_5 }) => percent(recall_at_5)).join(', ')}`,
    evals.map(({ finished_at, recall_at_5, changes }) => ({
      title: `${finished_at?.slice(0, 10) ?? ''}: ${percent(recall_at_5)}${changes.length > 0 ? `. ${sentenceOf(changes)}` : ''}`,
      height: recall_at_5 === null ? 1 : Math.min(STRIP_HEIGHT, stripHeight(recall_at_5, 1)),
      fill: recall_at_5 === null ? 'strip-ground' : changes.length > 0 ? 'ink-dotted' : 'ink-plain',
    })),
  )

const cellsOf = ({ finished_at, recall_at_5, mrr, questions, rows, changes, created_by }: Eval) => [
  exactTime(finished_at!),
  percent(recall_at_5),
  shown(mrr),
  questions,
  rows === null ? 'Not counted' : rows.toLocaleString('en'),
  changes.map(
    ({ what, at }, place) =>
      html`${place > 0 && html`<br />`}${CHANGED[what]}${at && html`, ${exactTime(at)}`}`,
  ),
  created_by,
]

const CHANGED: Record<EvalChange['what'], string> = {
  model: 'Model',
  configuration: 'Configuration',
  rows: 'Rows',
}

/** `Model and rows have changed`. */
function sentenceOf(changes: readonly EvalChange[]): string {
  const words = changes.map(({ what }, at) => (at === 0 ? CHANGED[what] : CHANGED[what].toLowerCase()))
  const isOne = words.length === 1 && changes[0]?.what !== 'rows'
  return `${words.join(' and ')} ${isOne ? 'has' : 'have'} changed`
}

const percent = (share: number | null): string =>
  share === null ? 'None' : `${Number((share * 100).toFixed(1))} %`
const shown = (number: number | null): string => (number === null ? 'None' : number.toFixed(3))

function thresholdCard(c: PageContext, source: Source, { evals, thresholds, threshold_eval_id }: Listed) {
  const action = `${pathOf(source.source_id)}/threshold`
  const [newest] = evals
  const change = (eval_id: string, label: string, kind?: 'quiet') =>
    form(c, action, html`<input type="hidden" name="eval_id" value="${eval_id}" />${button(label, kind)}`, '')
  return card(
    'Threshold',
    html`${
      thresholds.length === 0
        ? html`<p>No answer is marked as weak.</p>`
        : table(
            'Thresholds',
            ['Table', 'Score', 'State'],
            thresholds.map(({ target, score, applies }) => [
              target,
              score,
              applies ? 'In use' : 'Not in use: the table is searched in another way since',
            ]),
          )
    }
    <div class="actions">
      ${newest && newest.id !== threshold_eval_id && change(newest.id, 'Set from the last eval')}
      ${thresholds.length > 0 && change('', 'Remove', 'quiet')}
    </div>`,
    'An answer without a hit that reaches it is marked as weak: probably nothing there answers the question. It is learned from an eval.',
  )
}

const changeThreshold = act(setThreshold, {
  input: (sent) => ({ eval_id: text(sent, 'eval_id') || null }),
  back: (c) => tabPath(sourceIdFrom(c), 'quality'),
  done: (_, { eval_id }) =>
    eval_id === null
      ? 'Answers are no longer marked as weak.'
      : 'Answers below the threshold are marked as weak.',
})
