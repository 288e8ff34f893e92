/** One pipeline: its schedule, its runs, and starting one now. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { PIPELINE_RUN_CODES } from '../../../contracts/pipeline-states.ts'
import {
  listPipelineRuns,
  removePipeline,
  showPipeline,
  startPipelineRun,
} from '../../../contracts/pipelines.ts'
import { button, card, linkButton } from '../../../pages/parts.ts'
import { dialog, exactTime, listCard, pair, time } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { confirmDialog, form } from '../../forms.ts'
import { page } from '../../layout.ts'
import { aliasOf, emptyTab, mayWork, readApp, tabParents, tabPath, type App } from './app-tabs.ts'
import {
  pipelineBadge,
  pipelinePath,
  POLICY_LABELS,
  RUN_LABELS,
  runBadge,
  schedule,
  type Pipeline,
} from './pipeline-labels.ts'

const RUNS = listOf(listPipelineRuns, {
  state: { label: 'State', all: 'All states', labels: RUN_LABELS },
})

type Runs = z.output<typeof listPipelineRuns.output>
type Run = Runs['runs'][number]

export const pipelineRoutes = () =>
  createRoutes()
    .get('/apps/:alias/pipelines/:pipeline_id', showOne)
    .post('/apps/:alias/pipelines/:pipeline_id/run', start)
    .post('/apps/:alias/pipelines/:pipeline_id/remove', remove)

async function showOne(c: PageContext) {
  const key = routeInput(c, showPipeline)
  const [app, pipeline, listed] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showPipeline, key),
    RUNS.call(c, key),
  ])
  return page(c, {
    title: pipeline.name,
    parents: tabParents(app, 'pipelines'),
    lead: pipelineBadge(pipeline),
    actions: mayWork(sessionOf(c), app) && actions(c, app, pipeline),
    body: html`${settingsCard(pipeline)} ${runList(c, app, pipeline, listed)}`,
  })
}

function actions(c: PageContext, { alias }: App, { id, name }: Pipeline) {
  const path = pipelinePath(alias, id)
  return html`${form(c, `${path}/run`, button('Run now'), '')}
    ${linkButton(`${path}/edit`, 'Edit', 'quiet')}
    ${confirmDialog(c, {
      label: 'Remove',
      title: `Remove ${name}?`,
      action: `${path}/remove`,
      text: 'It is removed with all of its runs. A worker that is running it is not stopped.',
      submit: 'Remove pipeline',
    })}`
}

const settingsCard = (pipeline: Pipeline) =>
  card(
    'Settings',
    html`<dl class="pairs">
      ${pair('Schedule', schedule(pipeline))}
      ${pair('Next due', pipeline.next_due_at === null ? 'Not scheduled' : exactTime(pipeline.next_due_at))}
      ${pair('Grace', `${pipeline.grace_minutes} minutes`)}
      ${pair('Time-out', `${pipeline.timeout_minutes} minutes`)}
      ${pair('If the previous run is still running', POLICY_LABELS[pipeline.concurrency].about)}
    </dl>`,
  )

const runList = (c: PageContext, app: App, { name }: Pipeline, listed: Runs) =>
  listCard(c, {
    title: 'Runs',
    noun: 'runs',
    ...RUNS.parts(c, listed),
    caption: 'Runs, newest first',
    columns: ['Due', 'State', 'What happened', 'Took', 'Worker'],
    rows: listed.runs.map((run) => [
      html`${time(run.due_at)} ${!run.scheduled && html`<span class="note">manual</span>`}`,
      runBadge(run.state),
      whatHappened(run),
      duration(run),
      run.worker ?? html`<span class="note">None</span>`,
    ]),
    empty: emptyTab(
      'No runs yet',
      'Runs are listed here, the newest first.',
      mayWork(sessionOf(c), app) && `svc apps pipelines run ${app.alias} ${name}`,
    ),
  })

const SHOWN_MAX = 80

/** In the worker's words, as plain text; else in ours. */
function whatHappened({ id, message, code }: Run) {
  if (message === null) return code !== null && html`<span class="note">${PIPELINE_RUN_CODES[code]}</span>`
  if (message.length <= SHOWN_MAX) return html`<span class="note">${message}</span>`
  return html`<span class="note">${message.slice(0, SHOWN_MAX)}…</span>
    ${dialog(`message-${id}`, 'Read', { title: 'What the worker wrote', content: html`<p>${message}</p>` }, 'Read what the worker wrote')}`
}

function duration({ started_at, ended_at }: Run) {
  if (started_at === null || ended_at === null) return html`<span class="note">–</span>`
  const seconds = Math.max(0, Math.round((Date.parse(ended_at) - Date.parse(started_at)) / 1000))
  if (seconds < 60) return `${seconds} s`
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}

const start = act(startPipelineRun, {
  back: (c) => pipelinePath(aliasOf(c), routeInput(c, showPipeline).pipeline_id),
  done: 'Run queued for a worker.',
})

const remove = act(removePipeline, {
  back: (c) => tabPath(aliasOf(c), 'pipelines'),
  done: 'Pipeline removed.',
})
