/** One maintenance run: how it ended, what it did step by step, what it read and what it spent. */
import { html } from 'hono/html'
import { notFound } from '../../../contracts/errors.ts'
import { MAINTENANCE_TRANSCRIPT_DAYS } from '../../../contracts/limits.ts'
import { showMaintenanceRun, showRunEvidence, showRunStep } from '../../../contracts/maintenance.ts'
import { RULES_MODEL, RUN_REASONS, RUN_STATUSES } from '../../../contracts/outcomes.ts'
import { card, linkButton, type Content } from '../../../pages/parts.ts'
import { badge, emptyState, exactTime, pair, table } from '../../components.ts'
import { routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { formatDuration, plural } from '../../format.ts'
import { page } from '../../layout.ts'
import { aliasOf, mayOpen, readApp, tabParents, type App } from '../apps/app-tabs.ts'
import { shortId } from '../apps/deployment-labels.ts'
import { sourcePath } from '../apps/source-paths.ts'
import { codeFrame, linesIn, visibleText } from '../apps/source-text.ts'
import { evidenceText } from './evidence-text.ts'
import {
  EVIDENCE_LABELS,
  evidencePath,
  findingPath,
  HIDDEN_TEXT,
  proposalPath,
  runBadge,
  runPath,
  runTitle,
  type RunDetails,
} from './maintenance-labels.ts'
import { nameOf, runTimeline } from './run-timeline.ts'

export const runRoutes = () =>
  createRoutes()
    .get('/apps/:alias/maintenance/runs/:execution_id', showOne)
    .get('/apps/:alias/maintenance/runs/:execution_id/progress', readProgress)
    .get('/apps/:alias/maintenance/runs/:execution_id/evidence', showEvidence)
    .get('/apps/:alias/maintenance/runs/:execution_id/steps/:number', showStep)

const pathOf = (c: PageContext): string => runPath(aliasOf(c), routeInput(c, showMaintenanceRun).execution_id)

async function showOne(c: PageContext) {
  const [app, run] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showMaintenanceRun, routeInput(c, showMaintenanceRun)),
  ])
  const readsSource = mayOpen(sessionOf(c), app, 'source')
  return page(c, {
    title: runTitle(run),
    parents: tabParents(app, 'maintenance'),
    lead: html`${runBadge(run)} ${run.undone_by && 'A push has undone its change.'} ${run.reason && `${RUN_REASONS[run.reason]}.`}`,
    actions:
      run.proposal_id !== undefined &&
      linkButton(proposalPath(app.alias, run.proposal_id), 'Open the proposal'),
    body: html`${run.status !== 'ended' && follow(c, run)} ${conclusionCard(app, run, readsSource)}
      ${stepsCard(c, run, readsSource)} ${evidenceCard(app, run)} ${detailsCard(app, run, readsSource)}`,
  })
}

/** The script asks until something has happened, and loads the page again. It has no text of its own. */
const follow = (c: PageContext, { status, steps }: RunDetails) =>
  html`<p class="note" role="status">${status === 'queued' ? 'It waits for an agent runner.' : 'It is under way.'} <a href="${pathOf(c)}">Refresh</a></p>
    <pre class="unseen" data-live="${progressPath(c, status, steps.length)}"></pre>`

const progressPath = (c: PageContext, status: string, steps: number): string =>
  `${pathOf(c)}/progress?${new URLSearchParams({ status, steps: String(steps) })}`

const WAIT_SECONDS = 5

async function readProgress(c: PageContext) {
  const { status: asked, steps: known = '' } = c.req.query()
  const status = RUN_STATUSES.find((one) => one === asked)
  const { signal } = c.req.raw
  const waiting = sessionOf(c).callWhile(signal)(showMaintenanceRun, {
    ...routeInput(c, showMaintenanceRun),
    wait: WAIT_SECONDS,
    status,
  })
  const run = await waiting.catch((error: unknown) => {
    // Nobody reads the answer any more.
    if (signal.aborted) return undefined
    throw error
  })
  if (run === undefined) return c.json({})
  const hasChanged = run.status !== status || String(run.steps.length) !== known
  return c.json({ text: '', more: progressPath(c, run.status, run.steps.length), ended: hasChanged })
}

function conclusionCard({ alias }: App, run: RunDetails, readsSource: boolean) {
  if (run.status !== 'ended') return null
  const findings = run.findings.map(
    ({ id, kind }) =>
      html`<li><a href="${findingPath(alias, id)}">Finding ${id.slice(-6)}</a> <span class="note">${kind}</span></li>`,
  )
  return card(
    'Conclusion',
    html`${
      run.summary === null
        ? html`<p class="note">${readsSource ? 'It said nothing at its end.' : HIDDEN_TEXT}</p>`
        : html`<p class="written">${run.summary.split('\n').map((line, at) => html`${at > 0 && html`<br />`}${visibleText(line)}`)}</p>`
    }
    ${findings.length > 0 && html`<ul class="plain">${findings}</ul>`}`,
    run.model === RULES_MODEL
      ? 'By the built-in rules: no language model. They look at log groups, stack frames and check history, and at nothing else.'
      : undefined,
  )
}

const stepsCard = (c: PageContext, { steps, tokens, status }: RunDetails, readsSource: boolean) =>
  card(
    'Timeline',
    steps.length === 0
      ? emptyState('No steps', status === 'ended' ? 'It ended before its first one.' : 'None yet.')
      : runTimeline(steps, readsSource ? (number) => `${pathOf(c)}/steps/${number}` : undefined),
    `${plural(steps.length, 'step')}, ${tokens.toLocaleString('en')} tokens.`,
    'card-list',
  )

const evidenceCard = ({ alias }: App, { evidence, evidence_read, execution_id }: RunDetails) =>
  card(
    'What it read',
    evidence.length === 0
      ? html`<p class="note">Nothing.</p>`
      : table(
          'References that the run read, those that are cited first',
          ['Reference', 'Kind', 'Cited', 'SHA-256'],
          evidence.map(({ ref, kind, pinned, sha256 }) => [
            ref === null
              ? html`<span class="note">Hidden</span>`
              : html`<a class="subject" href="${evidencePath(alias, execution_id, ref)}">${visibleText(ref)}</a>`,
            badge(EVIDENCE_LABELS[kind], 'off'),
            pinned ? badge('Cited', 'on') : html`<span class="note">No</span>`,
            html`<code title="${sha256}">${sha256.slice(0, 12)}…</code>`,
          ]),
        ),
    evidence.some(({ ref }) => ref === null)
      ? HIDDEN_TEXT
      : `${evidence.length < evidence_read ? `${evidence.length} of ${plural(evidence_read, 'reference')}. ` : ''}What is cited is kept for good, the rest for 30 days.`,
    'card-list',
  )

const VIA = {
  console: 'in the console',
  cli: 'with the client',
  api: 'over the API',
  mcp: 'over MCP',
} as const

function tookOf({ started_at, ended_at }: RunDetails): string | undefined {
  if (started_at === null || ended_at === null) return undefined
  return formatDuration(Math.max(0, Date.parse(ended_at) - Date.parse(started_at)))
}

function detailsCard({ alias }: App, run: RunDetails, readsSource: boolean) {
  const { base_revision: revision, requested_by, via } = run
  const took = tookOf(run)
  return card(
    'Details',
    html`<dl class="pairs">
      ${run.terminal_code !== null && pair('Result', html`<code>${run.terminal_code}</code>`)}
      ${pair('Requested by', requested_by === null ? 'The schedule' : html`${requested_by.name} ${via && VIA[via]}`)}
      ${pair('Model', html`<code>${run.model}</code>`)}
      ${pair('Tokens', run.tokens.toLocaleString('en'))}
      ${revision !== null && pair('Revision', readsSource ? html`<a href="${sourcePath(alias, { revision })}">${shortId(revision)}</a>` : shortId(revision))}
      ${pair('Requested', exactTime(run.created_at))}
      ${run.started_at !== null && pair('Started', exactTime(run.started_at))}
      ${run.ended_at !== null && pair('Ended', html`${exactTime(run.ended_at)}${took && `, after ${took}`}`)}
      ${pair('ID', html`<code class="long">${run.execution_id}</code>`)}
    </dl>`,
  )
}

const parentsOf = (app: App, id: string) => [
  ...tabParents(app, 'maintenance'),
  { label: `Run ${id.slice(-6)}`, href: runPath(app.alias, id) },
]

async function showEvidence(c: PageContext) {
  const key = routeInput(c, showMaintenanceRun)
  const ref = c.req.query('ref') ?? ''
  if (ref === '' || ref.length > 1_200) throw notFound()
  const [app, found] = await Promise.all([readApp(c), sessionOf(c).call(showRunEvidence, { ...key, ref })])
  return page(c, {
    title: 'Evidence',
    parents: parentsOf(app, key.execution_id),
    lead: html`${badge(EVIDENCE_LABELS[found.kind], 'off')} ${found.pinned && badge('Cited', 'on')}`,
    body: html`${card('Lines', evidenceText(found), 'As the run read them. They come from the app: nothing in them is to be believed.')}
      ${card(
        'Details',
        html`<dl class="pairs">
          ${pair('Reference', html`<code class="long">${visibleText(found.ref ?? ref)}</code>`)}
          ${found.location !== null && pair('Where', html`<code class="long">${visibleText(found.location)}</code>`)}
          ${found.from_line !== null && pair('Lines', `${found.from_line} to ${found.to_line ?? found.from_line}`)}
          ${pair('SHA-256', html`<code class="long">${found.sha256}</code>`)}
        </dl>`,
      )}`,
  })
}

async function showStep(c: PageContext) {
  const key = routeInput(c, showMaintenanceRun)
  const number = c.req.param('number') ?? ''
  if (!/^[1-9]\d{0,4}$/.test(number)) throw notFound()
  const [app, step] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showRunStep, { ...key, number: Number(number) }),
  ])
  return page(c, {
    title: `Step ${step.number}`,
    parents: parentsOf(app, key.execution_id),
    lead: html`${nameOf(step)}: ${step.result}, ${formatDuration(step.ms)}, ${step.tokens.toLocaleString('en')} tokens`,
    body: html`${transcriptCard('Request', step.request, step.request_sha256)}
      ${transcriptCard('Answer', step.answer, step.result_sha256)}`,
  })
}

const transcriptCard = (title: string, said: string | null, sha256: string) =>
  card(
    title,
    html`${said === null ? html`<p class="note">No longer kept: transcripts are removed after ${MAINTENANCE_TRANSCRIPT_DAYS} days.</p>` : transcript(title, said)}
      <p class="note">SHA-256 <code class="long">${sha256}</code></p>`,
  )

/** Lines on the page. */
const LINES_MAX = 2_000

function transcript(label: string, said: string): Content {
  const lines = linesIn(readable(said))
  return html`${codeFrame(
    `${label} as text`,
    html`<table class="code-lines code-wrapped" role="presentation"><tbody>${lines.slice(0, LINES_MAX).map((line) => html`<tr><td class="code-text">${visibleText(line)}</td></tr>`)}</tbody></table>`,
  )}
  ${lines.length > LINES_MAX && html`<p class="note">${lines.length - LINES_MAX} more lines.</p>`}`
}

/** JSON in lines; anything else as it is. */
function readable(said: string): string {
  try {
    return JSON.stringify(JSON.parse(said), null, 2)
  } catch {
    return said
  }
}
