/** The front page of an app: what runs, how it is, and what happened lately; and the settings of those who work on it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { renameApp } from '../../../contracts/apps.ts'
import type { CheckResult } from '../../../contracts/check-results.ts'
import { listChecks } from '../../../contracts/checks.ts'
import { listDeployments } from '../../../contracts/deployments.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { summarizeLogs } from '../../../contracts/logs.ts'
import { showAppMaintenance } from '../../../contracts/maintenance.ts'
import { listPipelines } from '../../../contracts/pipelines.ts'
import { card, linkButton, type Content } from '../../../pages/parts.ts'
import { stats, table, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { plural } from '../../format.ts'
import { formCard, statusOf } from '../../forms.ts'
import { appPath, canManage } from './app-labels.ts'
import { aliasOf, appPage, emptyTab, mayOpen, mayWork, readApp, tabPath, type App } from './app-tabs.ts'
import { appTokensCard } from './app-tokens.ts'
import { checkPath } from './check-labels.ts'
import { checkBadge, checkStrip } from './check-strip.ts'
import { deploymentBadge, deploymentPath, shortId } from './deployment-labels.ts'
import { runResult, unlessOff } from '../maintenance/maintenance-labels.ts'
import { countErrors, logChart, logSteps } from './log-chart.ts'

export const appRoutes = () =>
  createRoutes()
    .get('/apps/:alias', (c) => earlierPath(c) ?? showOverview(c))
    .get('/apps/:alias/settings', (c) => showSettings(c))
    .post('/apps/:alias/name', rename)

/** Tickets and people were on this page once, and people keep links to filtered lists. */
function earlierPath(c: PageContext): Response | undefined {
  const { search, searchParams } = new URL(c.req.url)
  if (searchParams.has('status') || searchParams.has('cursor'))
    return c.redirect(tabPath(aliasOf(c), 'tickets') + search)
  return searchParams.has('person') ? c.redirect(tabPath(aliasOf(c), 'people') + search) : undefined
}

const RENAME = formOf(renameApp, ['name'])

/** Of those who work on it: its tokens, and its name for who manages it. */
async function showSettings(c: PageContext, refused?: Refused) {
  const app = await readApp(c, 'settings')
  return appPage(c, app, 'settings', {
    status: statusOf(refused?.problem),
    body: html`${canManage(app.my_role) && formCard(c, { of: RENAME.show({ now: app, refused }), title: 'Name', action: `${appPath(app.alias)}/name`, submit: 'Save name' })}
    ${await appTokensCard(c, app)}`,
  })
}

async function showOverview(c: PageContext) {
  const app = await readApp(c)
  const facts = await factsOf(c, app)
  return appPage(c, app, 'overview', {
    actions: linkButton(`${tabPath(app.alias, 'tickets')}/new`, 'New ticket', 'quiet'),
    body: html`
      ${isEmpty(facts) ? gettingStarted(app, mayWork(sessionOf(c), app)) : glance(app, facts)}
      ${facts.checks.length > 0 && checksCard(app, facts.checks)}
      ${facts.logs !== undefined && facts.logs.lines > 0 && card('Log lines', logChart(facts.logs.steps), html`In the last ${LOG_DAYS} days. <a href="${tabPath(app.alias, 'logs')}">Read the logs</a>`)}
      ${facts.deployments.length > 0 && deploymentsCard(app, facts.deployments)}
    `,
  })
}

type Facts = Awaited<ReturnType<typeof factsOf>>
type Check = z.output<typeof listChecks.output>['checks'][number]
type Deployment = z.output<typeof listDeployments.output>['deployments'][number]

const LOG_DAYS = 7
const LATEST = 5

async function factsOf(c: PageContext, app: App) {
  const session = sessionOf(c)
  const { alias } = app
  const [running, latest, { checks }, { pipelines }, logs, maintenance] = await Promise.all([
    session.call(listDeployments, { alias, state: 'succeeded', limit: 1 }),
    session.call(listDeployments, { alias, limit: LATEST }),
    session.call(listChecks, { alias, limit: PAGE_MAX }),
    session.call(listPipelines, { alias, limit: PAGE_MAX }),
    mayOpen(session, app, 'logs') ? readLogs(c, alias) : undefined,
    unlessOff(session.call(showAppMaintenance, { alias })),
  ])
  return {
    running: running.deployments[0],
    deployments: latest.deployments,
    checks,
    pipelines,
    logs,
    maintenance,
  }
}

async function readLogs(c: PageContext, alias: string) {
  const now = c.var.deps.clock()
  const since = new Date(now.getTime() - LOG_DAYS * 86_400_000)
  const steps = logSteps(
    await sessionOf(c).call(summarizeLogs, { alias, since: since.toISOString() }),
    since,
    now,
  )
  const lines = steps.reduce((sum, { values }) => sum + values.reduce((all, value) => all + value, 0), 0)
  return { steps, lines, errors: countErrors(steps) }
}

const isEmpty = ({ deployments, checks, pipelines, logs }: Facts): boolean =>
  deployments.length + checks.length + pipelines.length + (logs?.lines ?? 0) === 0

const gettingStarted = (app: App, mayPush: boolean) =>
  mayPush
    ? emptyTab(
        'Nothing runs yet',
        'Push a folder and deploy it. What runs, its checks and its logs are then shown here.',
        `svc apps push ${app.alias} --deploy`,
      )
    : emptyTab('Nothing runs yet', 'What runs, its checks and its logs are shown here.', false)

const glance = (app: App, { running, checks, pipelines, logs, maintenance }: Facts) =>
  stats('The app at a glance', [
    {
      label: 'Running',
      value: running === undefined ? 'Nothing' : shortId(running.revision_id),
      note: running && html`${time(running.ended_at ?? running.requested_at)} by ${running.requested_by}`,
      href: tabPath(app.alias, 'deployments'),
    },
    { label: 'Checks', ...checkFigure(checks), href: tabPath(app.alias, 'checks') },
    logs !== undefined && {
      label: `Errors in ${LOG_DAYS} days`,
      value: logs.errors,
      note: `of ${plural(logs.lines, 'line')}`,
      href: `${tabPath(app.alias, 'logs')}?level=error`,
    },
    {
      label: 'Pipelines',
      value: pipelines.length,
      note: pipelineNote(pipelines),
      href: tabPath(app.alias, 'pipelines'),
    },
    maintenance !== undefined && {
      label: 'Maintenance',
      ...maintenanceFigure(maintenance),
      href: tabPath(app.alias, 'maintenance'),
    },
    { label: 'Open tickets', value: app.open_tickets, href: tabPath(app.alias, 'tickets') },
  ])

function maintenanceFigure(status: NonNullable<Facts['maintenance']>): { value: Content; note: Content } {
  const { settings, latest_run: run, open_proposals: open } = status
  if (!settings.enabled) return { value: 'Off', note: undefined }
  return {
    value: run === null ? 'On' : runResult(run),
    note: open > 0 ? `${plural(open, 'proposal')} to review` : run && time(run.created_at),
  }
}

/** What is known, and no more: one that is paused, or has too few results for a state, neither passes nor fails. */
function checkFigure(checks: readonly Check[]): { value: Content; note: Content } {
  if (checks.length === 0) return { value: 'None', note: undefined }
  const counts = Map.groupBy(checks, ({ paused, state }): CheckWord =>
    paused !== null ? 'paused' : state === null ? 'pending' : state === 'pass' ? 'passing' : state,
  )
  const of = (word: CheckWord): number => counts.get(word)?.length ?? 0
  const unclear = of('error') + of('indeterminate')
  const value =
    of('fail') > 0
      ? `${of('fail')} failing`
      : unclear > 0
        ? `${unclear} not passing`
        : of('passing') > 0
          ? `${of('passing')} passing`
          : of('pending') > 0
            ? 'No results yet'
            : 'None running'
  const others = (['pending', 'paused'] as const).filter((word) => of(word) > 0)
  return { value, note: [`of ${checks.length}`, ...others.map((word) => `${of(word)} ${word}`)].join(', ') }
}

type CheckWord = 'paused' | 'pending' | 'passing' | Exclude<CheckResult, 'pass'>

function pipelineNote(pipelines: Facts['pipelines']): Content {
  const troubled = pipelines.filter(({ trouble }) => trouble !== null).length
  if (troubled > 0) return `${troubled} failing`
  const next = pipelines
    .flatMap(({ next_due_at }) => next_due_at ?? [])
    .toSorted((a, b) => a.localeCompare(b))[0]
  if (next !== undefined) return html`Next ${time(next)}`
  return pipelines.some(({ enabled }) => enabled) || pipelines.length === 0 ? undefined : 'Off'
}

const checksCard = ({ alias }: App, checks: readonly Check[]) =>
  card(
    'Checks',
    table(
      'Checks and their last results',
      ['Check', 'State', 'Last results', 'Last run'],
      checks.map(({ id, name, state, paused, recent, last_run_at }) => [
        html`<a class="subject" href="${checkPath(alias, id)}">${name}</a>`,
        checkBadge({ state, paused }),
        recent.length > 0 ? checkStrip(recent) : html`<span class="note">None</span>`,
        last_run_at === null ? html`<span class="note">Never</span>` : time(last_run_at),
      ]),
    ),
    undefined,
    'card-list',
  )

const deploymentsCard = ({ alias }: App, deployments: readonly Deployment[]) =>
  card(
    'Last deployments',
    table(
      'Last deployments, newest first',
      ['Deployment', 'State', 'Revision', 'Requested by', 'Requested'],
      deployments.map(({ id, revision_id, state, requested_by, requested_at }) => [
        html`<a class="subject" href="${deploymentPath(alias, id)}">${shortId(id)}</a>`,
        deploymentBadge(state),
        shortId(revision_id),
        html`${requested_by}`,
        time(requested_at),
      ]),
    ),
    undefined,
    'card-list',
  )

const rename = submit(RENAME, {
  again: showSettings,
  done: ({ name }, c) => [tabPath(aliasOf(c), 'settings'), `App renamed to ${name}.`],
})
