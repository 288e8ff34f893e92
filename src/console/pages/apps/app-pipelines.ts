/** The tab Pipelines of an app: its scheduled jobs, and the workers that run them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listPipelines } from '../../../contracts/pipelines.ts'
import { linkButton } from '../../../pages/parts.ts'
import { badge, emptyState, listCard, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { appPage, emptyTab, mayWork, readApp, tabPath, type App } from './app-tabs.ts'
import { pipelineEditorRoutes } from './pipeline-editor.ts'
import { pipelineBadge, pipelinePath, runStrip, schedule } from './pipeline-labels.ts'
import { pipelineRoutes } from './pipeline.ts'

type Listed = z.output<typeof listPipelines.output>

export const appPipelinesRoutes = () =>
  createRoutes()
    .get('/apps/:alias/pipelines', showPipelines)
    // Before the single one: `new` would be taken for an id.
    .route('/', pipelineEditorRoutes())
    .route('/', pipelineRoutes())

async function showPipelines(c: PageContext) {
  const app = await readApp(c)
  const listed = await sessionOf(c).call(listPipelines, { alias: app.alias, cursor: c.req.query('cursor') })
  return appPage(c, app, 'pipelines', {
    actions:
      mayWork(sessionOf(c), app) && linkButton(`${tabPath(app.alias, 'pipelines')}/new`, 'New pipeline'),
    body: html`${pipelineList(c, app, listed)}
      ${(listed.pipelines.length > 0 || listed.workers.length > 0) && workerList(c, app, listed)}`,
  })
}

const noPipelines = (c: PageContext, app: App) =>
  emptyTab(
    'No pipelines yet',
    'A pipeline is a scheduled job that your worker runs. Subscribed integrations are notified once when it fails or does not start, and once when it succeeds again.',
    mayWork(sessionOf(c), app) && `svc apps pipelines add ${app.alias} nightly --cron "0 3 * * *"`,
  )

const pipelineList = (c: PageContext, app: App, { pipelines, next_cursor }: Listed) =>
  listCard(c, {
    caption: 'Pipelines, by name',
    columns: ['Pipeline', 'State', 'Last runs', 'Schedule', 'Next due'],
    rows: pipelines.map((one) => [
      html`<a class="subject" href="${pipelinePath(app.alias, one.id)}">${one.name}</a>`,
      pipelineBadge(one),
      one.recent_runs.length === 0 ? html`<span class="note">None</span>` : runStrip(one.recent_runs),
      schedule(one),
      one.next_due_at === null ? html`<span class="note">Not scheduled</span>` : time(one.next_due_at),
    ]),
    empty: noPipelines(c, app),
    next: next_cursor,
  })

const workerList = (c: PageContext, { alias }: App, { workers }: Listed) =>
  listCard(c, {
    title: 'Workers',
    caption: 'Workers, by name',
    columns: ['Worker', 'State', 'Can run', 'Last seen'],
    rows: workers.map(({ name, connected, pipelines, last_seen_at }) => [
      html`<span class="subject">${name}</span>`,
      connected ? badge('Connected', 'on') : badge('Offline', 'off'),
      html`<span class="note">${pipelines.join(', ')}</span>`,
      time(last_seen_at),
    ]),
    empty: emptyState(
      'No workers connected',
      html`A worker is your program that asks for runs, with a reporting token of this app:
        <code>POST /api/deploy/apps/${alias}/pipeline-runs/claim</code>`,
    ),
  })
