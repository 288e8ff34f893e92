/** The tab Maintenance of an app: whether the agent is on, its runs, its findings and its proposals. */
import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  startMaintenanceRun,
  showAppMaintenance,
  listFindings,
  listMaintenanceRuns,
  updateAppMaintenance,
} from '../../../contracts/maintenance.ts'
import { listProposals } from '../../../contracts/proposals.ts'
import { button, notice, type Content } from '../../../pages/parts.ts'
import { badge, emptyState, exactTime, listCard, stats, tabBar, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { act } from '../../act.ts'
import { redirectWithMessage, setFlash } from '../../flash.ts'
import { attempt, confirmDialog, form, text } from '../../forms.ts'
import { remotePath } from '../apps/app-remote.ts'
import { aliasOf, appPage, readApp, type App } from '../apps/app-tabs.ts'
import { visibleText } from '../apps/source-text.ts'
import {
  cronPhrase,
  FINDING_LABELS,
  findingBadge,
  findingPath,
  findingTitle,
  MAINTENANCE_PATH,
  mayMaintain,
  OUTCOME_LABELS,
  PROPOSAL_LABELS,
  runResult,
  runPath,
  runTitle,
  smallId,
  tabPathOf,
  unlessOff,
} from './maintenance-labels.ts'
import { proposalColumns, proposalRow } from './proposal-rows.ts'

export const appMaintenanceRoutes = () =>
  createRoutes()
    .get('/apps/:alias/maintenance', (c) => show(c, 'runs', runList))
    .get('/apps/:alias/maintenance/findings', (c) => show(c, 'findings', findingList))
    .get('/apps/:alias/maintenance/proposals', (c) => show(c, 'proposals', proposalList))
    .post('/apps/:alias/maintenance/switch', turn)
    .post('/apps/:alias/maintenance/runs', start)

const LABELS = { label: 'State', all: 'All states' }
const RUNS = listOf(listMaintenanceRuns, {
  outcome: { label: 'Outcome', all: 'All outcomes', labels: OUTCOME_LABELS },
})
const FINDINGS = listOf(listFindings, { state: { ...LABELS, labels: FINDING_LABELS } })
const PROPOSALS = listOf(listProposals, { state: { ...LABELS, labels: PROPOSAL_LABELS } })

type Status = z.output<typeof showAppMaintenance.output>
type Part = 'runs' | 'findings' | 'proposals'

/** While the organization is off there is no status; what happened before can still be read. */
async function show(c: PageContext, part: Part, list: (c: PageContext) => Promise<Content>) {
  const { call } = sessionOf(c)
  const alias = aliasOf(c)
  const [app, status, listed] = await Promise.all([
    readApp(c),
    unlessOff(call(showAppMaintenance, { alias })),
    unlessOff(list(c)),
  ])
  return appPage(c, app, 'maintenance', {
    actions: status && mayMaintain(sessionOf(c)) && actions(c, app, status),
    body: html`${status ? glance(c, app, status) : offNotice(c)}
      ${status && html`<p class="note">Approved proposals are deployed, or become pull requests at the <a href="${remotePath(alias)}">git remote</a> if there is one.</p>`}
      ${listed !== undefined && html`${parts(alias, part, status)} ${listed}`}`,
  })
}

const offNotice = (c: PageContext) =>
  emptyState(
    'The maintenance agent is off',
    mayMaintain(sessionOf(c))
      ? 'It reads an app at night, and records findings or proposes a change that a person decides on. Turn it on for the organization first.'
      : 'An owner or admin can turn it on for the organization.',
    html`<a href="${MAINTENANCE_PATH}">Maintenance agent</a>`,
  )

const parts = (alias: string, current: Part, status: Status | undefined) =>
  tabBar(
    (
      [
        ['runs', '', 'Runs', undefined],
        ['findings', '/findings', 'Findings', status?.open_findings],
        ['proposals', '/proposals', 'Proposals', status?.open_proposals],
      ] as const
    ).map(([part, path, label, count]) => ({
      href: tabPathOf(alias) + path,
      label,
      isCurrent: part === current,
      ...(count !== undefined && count > 0 && { count }),
    })),
    'Maintenance',
  )

const isCooling = (c: PageContext, { manual_run_from: from }: Status): boolean =>
  from !== null && Date.parse(from) > c.var.deps.clock().getTime()

function actions(c: PageContext, { alias, name }: App, status: Status) {
  const path = tabPathOf(alias)
  const turnTo = (value: 'on' | 'off') => html`<input type="hidden" name="turn" value="${value}" />`
  if (!status.settings.enabled)
    return form(c, `${path}/switch`, html`${turnTo('on')}${button('Turn on')}`, '')
  return html`${
    !isCooling(c, status) &&
    // The key is of this page: sent twice, it starts one run.
    form(
      c,
      `${path}/runs`,
      html`<input type="hidden" name="key" value="${randomUUID()}" />${button('Run now')}`,
      '',
    )
  }
  ${confirmDialog(c, {
    id: 'turn-off',
    label: 'Turn off',
    title: `Turn off maintenance of ${name}?`,
    action: `${path}/switch`,
    text: 'A run that is under way is stopped, and no other begins.',
    fields: turnTo('off'),
    submit: 'Turn off',
  })}`
}

const glance = (c: PageContext, { alias }: App, status: Status) =>
  html`${stats('Maintenance at a glance', [
    {
      label: 'Status',
      value: status.settings.enabled ? badge('On', 'on') : badge('Off', 'off'),
      note: html`Model <code>${status.model}</code>`,
    },
    {
      label: 'Next run',
      value: status.next_run_at === null ? 'None' : time(status.next_run_at),
      note: html`${cronPhrase(status.nightly_cron)} ${status.timezone}`,
    },
    {
      label: 'Latest run',
      value: status.latest_run === null ? 'None' : runResult(status.latest_run),
      note: status.latest_run && time(status.latest_run.created_at),
      ...(status.latest_run && { href: runPath(alias, status.latest_run.execution_id) }),
    },
    { label: 'Open findings', value: status.open_findings, href: `${tabPathOf(alias)}/findings` },
    { label: 'To review', value: status.open_proposals, href: `${tabPathOf(alias)}/proposals` },
  ])}
  ${
    status.settings.enabled &&
    isCooling(c, status) &&
    notice(
      'info',
      html`<p>Manual runs are possible again from ${exactTime(status.manual_run_from ?? '')}. The schedule is not affected.</p>`,
    )
  }`

async function runList(c: PageContext) {
  const alias = aliasOf(c)
  const listed = await RUNS.call(c, { alias })
  return listCard(c, {
    noun: 'runs',
    ...RUNS.parts(c, listed),
    caption: 'Maintenance runs, newest first',
    columns: ['Run', 'Outcome', 'Requested by', 'Tokens', 'Started'],
    rows: listed.runs.map((run) => [
      html`<a class="subject" href="${runPath(alias, run.execution_id)}">${runTitle(run)}</a> ${smallId(run.execution_id)}`,
      html`${runResult(run)} ${run.undone_by && badge('Undone', 'bad')}`,
      html`${run.requested_by?.name ?? 'Schedule'}`,
      html`${run.tokens.toLocaleString('en')}`,
      time(run.created_at),
    ]),
    empty: emptyState(
      'No runs yet',
      'The first one begins at the next scheduled time, or when somebody starts it.',
    ),
  })
}

async function findingList(c: PageContext) {
  const alias = aliasOf(c)
  const listed = await FINDINGS.call(c, { alias })
  return listCard(c, {
    noun: 'findings',
    ...FINDINGS.parts(c, listed),
    caption: 'Findings, newest first',
    columns: ['Finding', 'State', 'Where', 'Found', 'Last'],
    rows: listed.findings.map((one) => [
      html`<a class="subject" href="${findingPath(alias, one.id)}">${findingTitle(one)}</a> ${smallId(one.id)}`,
      html`${findingBadge(one.state)} ${one.reopened_by !== null && badge('Fix undone', 'bad')}`,
      one.location === null
        ? html`<span class="note">–</span>`
        : html`<code>${visibleText(one.location)}</code>`,
      html`${one.times_found === 1 ? 'Once' : `${one.times_found} times`}`,
      time(one.last_found_at),
    ]),
    empty: emptyState('No findings', 'What a run finds wrong is listed here, with the lines that show it.'),
  })
}

async function proposalList(c: PageContext) {
  const alias = aliasOf(c)
  const listed = await PROPOSALS.call(c, { alias })
  return listCard(c, {
    noun: 'proposals',
    ...PROPOSALS.parts(c, listed),
    caption: 'Proposals, newest first',
    columns: proposalColumns(false),
    rows: listed.proposals.map((one) => proposalRow(one, false)),
    empty: emptyState(
      'No proposals',
      'At most one a day is made, and nothing is deployed before a person approves it.',
    ),
  })
}

const turn = act(updateAppMaintenance, {
  input: (sent) => ({ enabled: text(sent, 'turn') === 'on' }),
  back: (c) => tabPathOf(aliasOf(c)),
  done: (_, { enabled }) => (enabled ? 'Turned on.' : 'Turned off.'),
})

/** To the new run, or back with the reason. */
async function start(c: PageContext) {
  const alias = aliasOf(c)
  const idempotency_key = text(c.get('form'), 'key') || undefined
  const result = await attempt(() => sessionOf(c).call(startMaintenanceRun, { alias, idempotency_key }))
  if ('done' in result)
    return redirectWithMessage(c, runPath(alias, result.done.execution_id), 'Run requested.')
  setFlash(c, 'problem', [result.problem.message, result.problem.hint].filter(Boolean).join('. '))
  return c.redirect(tabPathOf(alias), 303)
}
